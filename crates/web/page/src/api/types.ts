// What the server sends and takes, as far as the page looks at it. The interface document of the server says the rest.

import type { Source } from "./json";

export type Json = null | boolean | number | string | Source | Json[] | { [name: string]: Json };
export type Fields = { [name: string]: Json };

export interface Page<T> {
  data: T[];
  next?: string | null;
}

export interface Agent {
  id: string;
  name: string;
  model?: string | null;
  instructions: string;
  temperature?: number | null;
  max_output_tokens?: number | null;
  reasoning_effort?: string | null;
  tools: string[];
  auto_reply: boolean;
  parallel_tool_calls: boolean;
  streaming?: boolean | null;
}

export interface Sandbox {
  mode: string;
  network: boolean;
  private_addresses: boolean;
}

export interface Rule {
  id: string;
  ruling: string;
  tool: string;
  agent?: string | null;
  matches?: Fields[];
  description?: string | null;
  origin?: { approval?: string; by?: string; at?: string } | null;
}

export interface Policy {
  preset: string;
  rules?: Rule[];
  granted?: Rule[];
}

export interface World {
  id: string;
  name: string;
  description: string;
  turn_limit: number;
  max_iterations: number;
  main_agent?: string | null;
  after_denial: string;
  approval_timeout_seconds?: number | null;
  variables: { [name: string]: string };
  working_directory?: string | null;
  default_model?: string | null;
  title_model?: string | null;
  streaming: boolean;
  result_limit: number;
  agents: Agent[];
  policy: Policy;
  sandbox: Sandbox;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface Activity {
  state: string;
  agents: { id: string; doing: string }[];
  running_calls: string[];
  waiting_approvals: number;
}

export interface Chat {
  id: string;
  world_id: string;
  title: string;
  named_by: string;
  forked_from?: { chat_id: string; message_id: string } | null;
  activity: Activity;
  created_at: string;
  updated_at: string;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  cached_input_tokens: number;
  reasoning_tokens: number;
}

export type Part =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url?: string | null; file_id?: string | null; detail?: string | null }
  | { type: "input_file"; filename?: string | null; file_data?: string | null; file_url?: string | null };

export interface Message {
  id: string;
  chat_id: string;
  role: string;
  sender: string;
  user?: string | null;
  agent_id?: string | null;
  turn_id?: string | null;
  content: string;
  /** The text as blocks of safe HTML, where the server renders. */
  html?: string[];
  parts?: Part[];
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string | null;
  reply_to?: string | null;
  created_at: string;
  usage?: Usage | null;
}

export interface Call {
  id: string;
  chat_id: string;
  agent_id: string;
  turn_id: string;
  name: string;
  arguments: Json;
  blocking: boolean;
  location: string;
  state: string;
  approval_id?: string | null;
  requested_at: string;
  started_at?: string | null;
  ended_at?: string | null;
  duration_ms?: number | null;
  result?: string | null;
  result_whole?: Fields | null;
  details?: Fields | null;
  is_error: boolean;
}

export interface Suggestion {
  label: string;
  matches: Fields[];
}

export interface Approval {
  id: string;
  state: string;
  world_id: string;
  chat_id: string;
  agent_id: string;
  tool_call_id: string;
  tool: string;
  arguments: Json;
  working_directory?: string | null;
  message: string;
  shown: string;
  options: string[];
  suggested_matches: Suggestion[];
  preview?: string | null;
  binding?: { arguments?: string; facts?: { [name: string]: string } } | null;
  voided?: { approval?: string; changes?: Json[] } | null;
  form?: Fields | null;
  context?: Message[] | null;
  created_at: string;
  expires_at?: string | null;
  decision?: string | null;
  scope?: string | null;
  reason?: string | null;
  edited_arguments?: Json;
  decided_by?: string | null;
  decided_through?: string | null;
  decided_at?: string | null;
}

export interface Decision {
  decision: "approve" | "deny";
  scope?: "once" | "session" | "always";
  match?: number;
  reason?: string;
  arguments?: Json;
  agent_id?: string;
  tool?: string;
}

export interface StreamNews {
  phase: string;
  message_id: string;
  agent_id: string;
  turn_id?: string;
  iteration?: number | null;
  joined?: { message_id?: string; tool_call_id?: string }[] | null;
  usage?: Usage | null;
  error?: string | null;
  offset?: number;
  delta?: string;
  reasoning_delta?: string;
  blocks?: { index: number; html: string }[];
}

export interface OutputNews {
  state: string;
  phase: "output";
  id: string;
  agent_id: string;
  channel: string;
  delta: string;
}

export interface Notice {
  code: string;
  text: string;
  agent_id?: string | null;
  turn_id?: string | null;
  message_id?: string | null;
  by?: string | null;
}

export interface Crud {
  entity: string;
  action: string;
  id: string;
  from?: string | null;
  by?: string | null;
}

interface Told<K extends string, D> {
  seq?: number;
  type: K;
  world_id: string;
  chat_id?: string | null;
  at: string;
  data: D;
}

export type News =
  | Told<"message", Message>
  | Told<"stream", StreamNews>
  | Told<"tool", Call | OutputNews>
  | Told<"approval", Approval>
  | Told<"activity", Activity>
  | Told<"system", Notice>
  | Told<"crud", Crud>;

export interface Session {
  required: boolean;
  name: string | null;
  role: string | null;
  csrf: string | null;
}
