// What may be chosen for a request, and which texts are answers: the same rules as in the terminal.
// Never offers more than the server did.

import { isFields, print, readWritten, Source } from "../api/json";
import type { Approval, Json } from "../api/types";
import { MASK, reveal, word } from "../words";

export type Reach = "once" | "session" | "always";

/** How a cut says so. */
const CUTS = [
  MASK,
  "more characters not shown",
  "more characters in this line]",
  "more lines of the diff are not shown",
];
/** Programs that take away or change what is there, or act with other rights. */
const DESTRUCTIVE = new Set([
  "rm",
  "rmdir",
  "unlink",
  "shred",
  "dd",
  "truncate",
  "mkfs",
  "fdisk",
  "mv",
  "chmod",
  "chown",
  "chgrp",
  "kill",
  "pkill",
  "killall",
  "sudo",
  "su",
  "doas",
]);

export function offers(approval: Approval, reach: Reach): boolean {
  const has = (option: string) => approval.options.includes(option);
  const lasts = !approval.form && approval.suggested_matches.length > 0;
  if (reach === "once") return approval.options.length === 0 || has("approve_once");
  if (reach === "session") return lasts && has("approve_session");
  return lasts && has("approve_always") && isWhole(approval);
}

/** Whether all of what would run can be seen. */
export function isWhole(approval: Approval): boolean {
  const whole = (text: string) => !CUTS.some((cut) => text.includes(cut));
  return whole(approval.shown) && (!approval.preview || whole(approval.preview));
}

/** A text as arguments, or as an answer to a form, to be sent as it was written; or why it is none. */
export function readArguments(approval: Approval, text: string): { value: Source } | { problem: string } {
  let value: Json;
  try {
    value = readWritten(text);
  } catch (error) {
    return { problem: `That is not JSON: ${error instanceof Error ? error.message : ""}. Nothing was decided.` };
  }
  if (!isFields(value)) {
    return { problem: "Arguments are an object, in braces. Nothing was decided." };
  }
  // Secrets were never here: what would be sent is the mask.
  if (!approval.form && print(value).includes(MASK)) {
    return { problem: "The mask of a secret would run in its place. Write the secret itself. Nothing was decided." };
  }
  return { value: new Source(text) };
}

export interface Command {
  text: string;
  /** The other arguments, by name. */
  more: [string, string][];
}

/** A call of the shell as the line that it is. Shows every argument or nothing: what is not understood is shown as it came. */
export function readCommand(approval: Approval): Command | null {
  if (approval.tool !== "shell_cmd") return null;
  let fields: { [name: string]: Json };
  try {
    const read = readWritten(approval.shown);
    if (!isFields(read)) return null;
    fields = read;
  } catch {
    return null;
  }
  const given = (name: string) => (fields[name] === null ? undefined : fields[name]);
  const command = given("command");
  const script = given("script");
  const parameters = given("parameters");
  let text: string;
  if (typeof command === "string" && script === undefined) {
    if (parameters !== undefined && !(Array.isArray(parameters) && parameters.every((one) => typeof one === "string")))
      return null;
    text = [command, ...((parameters as string[] | undefined) ?? [])].map(word).join(" ");
  } else if (typeof script === "string" && command === undefined && parameters === undefined) {
    text = reveal(script);
  } else return null;
  const named = new Set(["command", "script", "parameters"]);
  const more = Object.entries(fields).filter(([name, value]) => !named.has(name) && value !== null);
  return {
    text,
    more: more.map(([name, value]) => [
      reveal(name),
      reveal(typeof value === "string" ? value : print(value)),
    ]),
  };
}

/** Whether a fact tells one content from another by a long number. */
export function hasDigest(fact: string): boolean {
  return /\b(sha256:)?[0-9a-f]{40,}\b/.test(fact);
}

/** Which of the programs that would run can destroy something. */
export function risky(programs: Iterable<string>): string[] {
  const names = [...programs].map((program) => program.split("/").pop() ?? "");
  return [...new Set(names.filter((name) => DESTRUCTIVE.has(name) || name.startsWith("mkfs.")))];
}

/** What a sandbox does not keep from happening. */
export function sandboxRisk(sandbox: string): string | null {
  if (sandbox === "off" || sandbox.startsWith("there is no sandbox"))
    return "Nothing keeps it from other files or the network";
  return sandbox.includes("with network") ? "It can reach the network" : null;
}
