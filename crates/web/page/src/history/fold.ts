// Folds events into what a person calls a thing that happened: a call with all it went through is one, and so is a reply from
// its beginning to its end. Pure; the events come in order.

import type { Approval, Call, Crud, Message, News, Notice, OutputNews, StreamNews } from "../api/types";
import { callLine, callState, glimpse, outcome, plural, revealLine } from "../words";

export type Kind = "message" | "call" | "reply" | "notice" | "change";

export interface Step {
  at: string;
  /** Begins in lower case. */
  words: string;
}

export interface Happened {
  key: string;
  kind: Kind;
  /** When it began. */
  at: string;
  chat: string | null;
  agent: string | null;
  tool: string | null;
  /** Of a call: how it stands. */
  state: string | null;
  asked: boolean;
  /** Who or what, and what of it. */
  who: string;
  what: string;
  /** How it stands, or how it ended. */
  end: string;
  steps: Step[];
  /** The events themselves, the latest of each kind. */
  data: { [type: string]: unknown };
  message: string | null;
  /** The request by which a person was asked. */
  approval: string | null;
}

/** A message that only asks a person; the call that it asks for tells all of it. */
export const REQUEST = "client.requestApproval";
/** Characters of a text that a line shows. */
const SHOWN = 300;

/** What a thing is called; its id where nobody knows. */
export type Naming = (entity: string, id: string) => string;

export function fold(events: readonly News[], name: Naming = (_, id) => id): Happened[] {
  const all: Happened[] = [];
  const calls = new Map<string, Happened>();
  const replies = new Map<string, Happened>();
  for (const news of events) {
    switch (news.type) {
      case "message":
        hearMessage(news.data, news, all, calls);
        break;
      case "tool":
        if (!("phase" in news.data)) hearCall(news.data, news, all, calls);
        break;
      case "approval":
        hearApproval(news.data, news, all, calls);
        break;
      case "stream":
        hearReply(news.data, news, all, replies);
        break;
      case "system":
        all.push(noticed(news.data, news));
        break;
      case "crud":
        // A title that a chat was given is told on a line of its own.
        if (news.data.entity !== "chat" || news.data.action !== "updated") all.push(changed(news.data, news, name));
        break;
      default:
    }
  }
  return all;
}

function blank(news: News, kind: Kind, key: string): Happened {
  return {
    key,
    kind,
    at: news.at,
    chat: news.chat_id ?? null,
    agent: null,
    tool: null,
    state: null,
    asked: false,
    who: "",
    what: "",
    end: "",
    steps: [],
    data: {},
    message: null,
    approval: null,
  };
}

function hearMessage(message: Message, news: News, all: Happened[], calls: Map<string, Happened>): void {
  if (message.role === "tool") {
    // What a tool gave back belongs to its call.
    const call = message.tool_call_id ? calls.get(message.tool_call_id) : undefined;
    if (call) call.data["result"] = message.content;
    return;
  }
  if (message.tool_calls?.some((call) => call.function.name === REQUEST)) return;
  const pictures = message.parts?.length ?? 0;
  // Who only calls says nothing: the calls tell it.
  if (!message.content && pictures === 0) return;
  const one = blank(news, "message", `m ${message.id}`);
  one.agent = message.agent_id ?? (message.role === "assistant" ? message.sender : null);
  one.who = message.user ?? message.sender;
  one.what = message.content ? glimpse(message.content.slice(0, SHOWN)) : plural(pictures, "image");
  one.message = message.id;
  one.data["message"] = message;
  all.push(one);
}

function callOf(id: string, news: News, all: Happened[], calls: Map<string, Happened>): Happened {
  const known = calls.get(id);
  if (known) return known;
  const one = blank(news, "call", `c ${id}`);
  calls.set(id, one);
  all.push(one);
  return one;
}

function hearCall(call: Call, news: News, all: Happened[], calls: Map<string, Happened>): void {
  const one = callOf(call.id, news, all, calls);
  one.agent = call.agent_id;
  one.who = call.agent_id;
  one.tool = call.name;
  one.what = callLine(call.arguments).slice(0, SHOWN);
  one.data["call"] = call;
  if (one.state === call.state) return;
  one.state = call.state;
  one.end = callState(call.state).toLowerCase();
  // That it waits is said by what it waits for, and that it is about to do something by what it does.
  if (call.state !== "pending") one.steps.push({ at: news.at, words: one.end });
}

function hearApproval(approval: Approval, news: News, all: Happened[], calls: Map<string, Happened>): void {
  const one = callOf(approval.tool_call_id, news, all, calls);
  one.agent ??= approval.agent_id;
  one.who ||= approval.agent_id;
  one.tool ??= approval.tool;
  one.what ||= callLine(approval.arguments).slice(0, SHOWN);
  one.asked = true;
  one.approval = approval.id;
  one.data["approval"] = approval;
  if (approval.state === "pending") return;
  const words = outcome(approval, null);
  const why = approval.reason ? `: ${revealLine(approval.reason)}` : "";
  one.steps.push({ at: news.at, words: words.charAt(0).toLowerCase() + words.slice(1) + why });
}

function hearReply(stream: StreamNews, news: News, all: Happened[], replies: Map<string, Happened>): void {
  let one = replies.get(stream.message_id);
  if (!one) {
    one = blank(news, "reply", `r ${stream.message_id}`);
    replies.set(stream.message_id, one);
    all.push(one);
    one.agent = stream.agent_id;
    one.who = stream.agent_id;
    one.what = "asks its model";
  }
  one.data[stream.phase] = stream;
  one.message = stream.message_id;
  if (stream.phase === "start") return;
  const tokens = stream.usage ? `, ${plural(stream.usage.total_tokens, "token")}` : "";
  one.end = stream.error ? `failed: ${revealLine(stream.error)}` : `answered${tokens}`;
  one.state = stream.error ? "failed" : "completed";
  one.steps.push({ at: news.at, words: one.end });
}

function noticed(notice: Notice, news: News): Happened {
  // A title is a change of the chat.
  const one = blank(news, notice.code === "title" ? "change" : "notice", `s ${news.seq}`);
  one.agent = notice.agent_id ?? null;
  const text = glimpse(notice.text.slice(0, SHOWN));
  one.who = notice.by ?? notice.agent_id ?? "";
  one.what = notice.code !== "title" ? text : `${notice.by ? "called the chat" : "The chat is called"} “${text}”`;
  one.data["notice"] = notice;
  return one;
}

function changed(change: Crud, news: News, name: Naming): Happened {
  const one = blank(news, "change", `x ${news.seq}`);
  const thing = change.entity.replace(/_/g, " ");
  const which = `the ${thing} ${revealLine(name(change.entity, change.id))}`;
  one.who = change.by ?? "";
  one.what = change.by ? `${change.action} ${which}` : `${which.replace(/^t/, "T")} was ${change.action}`;
  one.data["change"] = change;
  return one;
}

export interface Filter {
  kinds: ReadonlySet<Kind>;
  chat: string;
  agent: string;
  tool: string;
  state: string;
}

/** States by which somebody looks for calls. */
export const STATES: [string, string, (one: Happened) => boolean][] = [
  ["asked", "A person was asked", (one) => one.asked],
  ["waiting", "Waiting", (one) => one.state === "awaiting_approval"],
  ["running", "Running", (one) => one.state === "executing"],
  ["completed", "Done", (one) => one.state === "completed"],
  ["failed", "Failed", (one) => ["failed", "timeout", "interrupted"].includes(one.state ?? "")],
  ["denied", "Denied or expired", (one) => ["denied", "expired"].includes(one.state ?? "")],
  ["cancelled", "Cancelled", (one) => one.state === "cancelled"],
];

export function fits(one: Happened, filter: Filter): boolean {
  const byState = STATES.find(([name]) => name === filter.state)?.[2];
  return (
    filter.kinds.has(one.kind) &&
    (!filter.chat || one.chat === filter.chat) &&
    (!filter.agent || one.agent === filter.agent) &&
    (!filter.tool || one.tool === filter.tool) &&
    (!byState || byState(one))
  );
}

/** What is told only live has no place here. */
export const isStored = (news: News): boolean =>
  news.seq !== undefined && !(news.type === "tool" && "phase" in (news.data as Call | OutputNews));

/** Two runs of events as one, in order, none twice. */
export function joined(older: readonly News[], newer: readonly News[]): News[] {
  const first = newer[0]?.seq ?? Infinity;
  const last = older[older.length - 1]?.seq ?? -Infinity;
  if (last < first) return [...older, ...newer];
  const all = new Map([...older, ...newer].map((news) => [news.seq, news]));
  return [...all.values()].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
}
