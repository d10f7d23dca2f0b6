// Puts times, calls, states and counts into words. What others wrote comes out with nothing hidden in it.

import { isFields, print } from "./api/json";
import type { Approval, Json } from "./api/types";

/** How a masked secret begins. */
export const MASK = "[secret masked: ";

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Control, zero-width and bidirectional characters made visible; line breaks and tabs stay. */
export function reveal(text: string): string {
  return text.replace(HIDDEN, (found) =>
    found === "\t" || found === "\n" ? found : `\\u{${(found.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`,
  );
}

export function revealLine(text: string): string {
  return reveal(text).replace(/\n/g, "\\n").replace(/\t/g, "\\t");
}

/** Prose on one line: its line breaks mean nothing there. */
export function glimpse(text: string): string {
  return reveal(text.replace(/\s+/g, " ").trim());
}

export function plural(number: number, thing: string, things = `${thing}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? thing : things}`;
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((milliseconds % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long ago something was, in a few characters. */
export function age(at: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(at)) / 1_000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return "now";
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** The same in a sentence. */
export function ago(at: string, now: number): string {
  const past = age(at, now);
  return past === "now" ? "just now" : `${past} ago`;
}

export function clock(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function fullTime(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : date.toLocaleString();
}

/** A day, for the line between messages of different days. */
export function day(at: string, now = new Date()): string {
  const date = new Date(at);
  const start = (of: Date) => new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
  const days = Math.round((start(now) - start(date)) / 86_400_000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return date.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}

const STATES: Record<string, string> = {
  pending: "Pending",
  awaiting_approval: "Waits for approval",
  executing: "Running",
  completed: "Done",
  failed: "Failed",
  timeout: "Timed out",
  denied: "Denied",
  expired: "Expired",
  interrupted: "Interrupted",
  cancelled: "Cancelled",
};

export function callState(state: string): string {
  return STATES[state] ?? state;
}

/** What a call is about, on one line: a command as it would be typed, one argument as it is, all else as JSON. */
export function callLine(value: Json): string {
  if (typeof value === "string") return revealLine(value);
  if (!isFields(value)) return value === null ? "" : revealLine(print(value));
  const command = value["command"];
  const script = value["script"];
  if (typeof command === "string") {
    const parameters = Array.isArray(value["parameters"]) ? value["parameters"] : [];
    return [command, ...parameters.map((one) => (typeof one === "string" ? one : print(one)))]
      .map(word)
      .join(" ");
  }
  if (typeof script === "string") return revealLine(script);
  const path = value["path"];
  if (typeof path === "string") return revealLine(path);
  const all = Object.values(value);
  if (all.length === 0) return "";
  if (all.length === 1 && typeof all[0] === "string") return revealLine(all[0]);
  return revealLine(print(value));
}

/** A word in which it would not be clear where it ends is shown in quotes. */
export function word(text: string): string {
  return /^[A-Za-z0-9_\-./:=@%+,~^]+$/.test(text) ? text : revealLine(JSON.stringify(text));
}

/** What became of a request, and by whom. */
export function outcome(approval: Approval, myName: string | null): string {
  const names: Record<string, string> = {
    pending: "Waiting",
    approved: "Approved",
    denied: "Denied",
    expired: "Expired, nobody answered",
    withdrawn: "Withdrawn",
  };
  const what = names[approval.state] ?? "Settled";
  const reach = approval.scope === "session" ? " for this chat" : approval.scope === "always" ? " always" : "";
  const who = approval.decided_by;
  if (!who || approval.state === "expired") return what;
  const by = who === myName ? "you" : who;
  if (approval.decided_through) return `${what} through a permission by ${by}`;
  const edited = approval.edited_arguments ? ", with other arguments" : "";
  return `${what}${approval.state === "approved" && !reach ? " once" : reach}${edited} by ${by}`;
}

/** One of a few colours for a name, always the same. */
export function hue(name: string): number {
  let sum = 7;
  for (const sign of name) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) % 9973;
  return sum % 8;
}
