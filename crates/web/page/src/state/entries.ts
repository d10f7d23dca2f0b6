// What a conversation consists of: what was said, and which tools were called. Only shapes and how they begin.

import { readWritten } from "../api/json";
import type { Json, Part, StreamNews, Usage } from "../api/types";

export interface Said {
  kind: "said";
  id: string;
  role: string;
  sender: string;
  user: string | null;
  agent: string | null;
  text: string;
  /** Blocks of safe HTML; none where the server does not render. */
  html: string[] | null;
  reasoning: string;
  parts: Part[];
  at: string;
  replyTo: string | null;
  state: "streaming" | "whole" | "broken";
  error: string | null;
  usage: Usage | null;
  /** What kind of notice it is, as far as that was heard. */
  code: string | null;
  /** Characters heard in pieces. */
  heard: number;
}

export interface Called {
  kind: "call";
  id: string;
  agent: string;
  name: string;
  arguments: Json;
  state: string;
  approval: string | null;
  output: string;
  result: string | null;
  /** How long the whole is, where `result` is only a part. */
  whole: number | null;
  isError: boolean;
  details: { [name: string]: Json } | null;
  startedAt: string | null;
  duration: number | null;
  at: string;
  /** Only what the message says of it: the call itself tells more. */
  isSketch: boolean;
}

export type Entry = Said | Called;

const OVER = new Set(["completed", "failed", "timeout", "denied", "expired", "interrupted", "cancelled"]);

export function isOver(state: string): boolean {
  return OVER.has(state);
}

export function begun(id: string, agent: string, at: string): Said {
  return {
    kind: "said",
    id,
    role: "assistant",
    sender: agent,
    user: null,
    agent,
    text: "",
    html: null,
    reasoning: "",
    parts: [],
    at,
    replyTo: null,
    state: "streaming",
    error: null,
    usage: null,
    code: null,
    heard: 0,
  };
}

export function sketch(id: string, agent: string, name: string, args: Json, at: string): Called {
  return {
    kind: "call",
    id,
    agent,
    name,
    arguments: args,
    state: "pending",
    approval: null,
    output: "",
    result: null,
    whole: null,
    isError: false,
    details: null,
    startedAt: null,
    duration: null,
    at,
    isSketch: true,
  };
}

export function blocks(known: string[] | null, changed: StreamNews["blocks"]): string[] | null {
  if (!changed) return known;
  const all = known ? [...known] : [];
  for (const { index, html } of changed) {
    while (all.length < index) all.push("");
    all[index] = html;
  }
  return all;
}

export function parsed(text: string): Json {
  try {
    return readWritten(text);
  } catch {
    return text;
  }
}

// The server counts characters, not the units of which strings consist here.
export function count(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
