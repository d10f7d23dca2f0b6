// The requests that the page makes, by name.

import { all, ask, bytes, path } from "./http";
import type {
  Agent,
  Approval,
  Call,
  Chat,
  Decision,
  Fields,
  Json,
  Message,
  Page,
  Part,
  Policy,
  Session,
  World,
} from "./types";

const chatPath = (world: string, chat: string, ...more: string[]) => path("worlds", world, "chats", chat, ...more);

export const session = {
  read: () => ask<Session>(path("session")),
  start: (token: string) => ask<Session>(path("session"), { method: "POST", body: { token }, once: true }),
  end: () => ask<void>(path("session"), { method: "DELETE" }),
  me: () => ask<{ name: string; role: string; authenticated: boolean }>(path("me")),
};

export const worlds = {
  list: () => all<World>(path("worlds")),
  read: (world: string) => ask<World>(path("worlds", world)),
  create: (body: Fields) => ask<World>(path("worlds"), { method: "POST", body }),
  change: (world: string, body: Fields) => ask<World>(path("worlds", world), { method: "PATCH", body }),
  remove: (world: string) => ask<void>(path("worlds", world), { method: "DELETE" }),
  /** Whole and as the server wrote it. */
  export: (world: string) => bytes(path("worlds", world, "export")),
  import: (body: Blob, as?: string) =>
    ask<{ id: string; chats: number; missing_secrets: Fields[]; stopped: string[] }>(path("worlds", "import"), {
      method: "POST",
      body,
      query: { as },
      once: true,
    }),
  models: () => all<Model>(path("models")),
  /** What a model can do, used by anybody or not. */
  model: (name: string, signal?: AbortSignal) => ask<Model>(path("models", name), signal ? { signal } : {}),
  tools: (world: string) => all<Tool>(path("worlds", world, "tools")),
};

export interface Model {
  id: string;
  vendor: string;
  is_known: boolean;
  tools: boolean;
  vision: boolean;
  reasoning: boolean;
  json_schema: boolean;
  temperature: boolean;
  context_window?: number | null;
  max_output_tokens?: number | null;
}

export interface Tool {
  name: string;
  description: string;
  location: string;
  approval: { required: boolean; message?: string | null };
  schema: Json;
  source: string;
  source_name?: string | null;
  read_only: boolean;
  destructive: boolean;
  offered_to: string[];
}

export const agents = {
  create: (world: string, body: Fields) => ask<Agent>(path("worlds", world, "agents"), { method: "POST", body }),
  change: (world: string, agent: string, body: Fields) =>
    ask<Agent>(path("worlds", world, "agents", agent), { method: "PATCH", body }),
  remove: (world: string, agent: string) => ask<void>(path("worlds", world, "agents", agent), { method: "DELETE" }),
};

export const chats = {
  list: (world: string) => all<Chat>(path("worlds", world, "chats")),
  read: (world: string, chat: string) => ask<Chat>(chatPath(world, chat)),
  create: (world: string) => ask<Chat>(path("worlds", world, "chats"), { method: "POST", body: {} }),
  rename: (world: string, chat: string, title: string) =>
    ask<Chat>(chatPath(world, chat), { method: "PATCH", body: { title } }),
  remove: (world: string, chat: string) => ask<void>(chatPath(world, chat), { method: "DELETE" }),
  stop: (world: string, chat: string) => ask<Chat>(chatPath(world, chat, "stop"), { method: "POST", body: {} }),
  retry: (world: string, chat: string) => ask<Chat>(chatPath(world, chat, "retry"), { method: "POST", body: {} }),
  fork: (world: string, chat: string, message: string) =>
    ask<Chat>(chatPath(world, chat, "fork"), { method: "POST", body: { message_id: message } }),
  call: (world: string, chat: string, call: string) => ask<Call>(chatPath(world, chat, "tool-calls", call)),
  result: (world: string, chat: string, call: string, offset: number) =>
    ask<{ text: string; characters: number; next?: number | null }>(
      chatPath(world, chat, "tool-calls", call, "result"),
      {
        query: { offset },
      },
    ),
};

export const messages = {
  // With nothing in `before`, the last of all.
  before: (world: string, chat: string, before: string, limit: number, signal?: AbortSignal) =>
    rendered((query) =>
      ask<Page<Message>>(chatPath(world, chat, "messages"), {
        query: { before, limit, ...query },
        ...(signal ? { signal } : {}),
      }),
    ),
  post: (world: string, chat: string, content: string | Part[], key: string) =>
    ask<{ message: Message }>(chatPath(world, chat, "messages"), { method: "POST", body: { content }, key }),
  edit: (world: string, chat: string, message: string, content: string, key: string) =>
    ask<{ message: Message }>(chatPath(world, chat, "messages", message), { method: "PUT", body: { content }, key }),
  remove: (world: string, chat: string, message: string) =>
    ask<void>(chatPath(world, chat, "messages", message), { method: "DELETE" }),
};

export const approvals = {
  waiting: () => all<Approval>(path("approvals")),
  read: (id: string) => ask<Approval>(path("approvals", id)),
  decide: (id: string, body: Decision) => ask<Approval>(path("approvals", id), { method: "POST", body }),
};

export interface Trial {
  verdict: string;
  ground: Json;
  explanation: string;
  commands: { command?: { command?: string; parameters?: string[] } | null; verdict: string; ground: Json }[];
  not_certain: string[];
}

export const policy = {
  read: (world: string) => ask<Policy>(path("worlds", world, "policy")),
  write: (world: string, body: unknown, version: number) =>
    ask<Policy>(path("worlds", world, "policy"), { method: "PUT", body, headers: { "if-match": `"${version}"` } }),
  test: (world: string, body: Fields, signal?: AbortSignal) =>
    ask<Trial>(path("worlds", world, "policy", "test"), { method: "POST", body, ...(signal ? { signal } : {}) }),
  diff: (world: string, body: unknown) =>
    ask<Comparison>(path("worlds", world, "policy", "diff"), { method: "POST", body: { policy: body } }),
  revoke: (world: string, rule: string) =>
    ask<void>(path("worlds", world, "policy", "rules", rule), { method: "DELETE" }),
};

export interface Comparison {
  calls: number;
  changes: { [name: string]: number };
  differences: { tool_call_id: string; agent_id: string; tool: string; arguments: Json; explanation: string }[];
}

/** Servers that do not render HTML refuse the question for it; the plain text is then all there is. */
let renders: boolean | undefined;

export function rendersHtml(): boolean {
  return renders !== false;
}

async function rendered<T>(request: (query: { render?: string }) => Promise<T>): Promise<T> {
  if (renders === false) return request({});
  try {
    const answer = await request({ render: "html" });
    renders = true;
    return answer;
  } catch (error) {
    const status = (error as { status?: number }).status;
    if (status !== 422 && status !== 400) throw error;
    renders = false;
    return request({});
  }
}

/** Finds out whether the server renders, before the first stream is opened. */
export async function findRendering(): Promise<boolean> {
  if (renders === undefined) {
    await rendered((query) => ask<unknown>(path("events"), { query: { limit: 1, ...query } }));
  }
  return rendersHtml();
}

export const renderText = (text: string, signal?: AbortSignal) =>
  ask<{ html: string[] }>(path("render"), {
    method: "POST",
    body: { text },
    once: true,
    ...(signal ? { signal } : {}),
  });
