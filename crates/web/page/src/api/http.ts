// Asks the server. Turns problem documents into errors that can be shown, and repeats what may safely be repeated: reading,
// and changes, since each of those carries a key by which the server knows it again.

import { isFields, print, readAnswer } from "./json";
import type { Page } from "./types";

/** The code of what was not sent since the browser is somebody else's by now. */
export const OTHER_SESSION = "other_session";

/** What the server, or the way to it, had against a request. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly facts: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}

export interface Ask {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Written as JSON; a file goes as it is. */
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Only one attempt, where somebody waits for the answer and can repeat it. */
  once?: boolean;
  /** By what the server knows a change again; one of its own where nobody says. */
  key?: string;
  /** No number of the answer is changed, not even where the page counts with them. */
  exactly?: boolean;
}

/** Whose page it is, and the word that proves that a request comes from it. */
export interface Identity {
  name: string;
  csrf: string | null;
}

const PAUSES = [300, 1_000, 2_500];
let identity: Identity | null = null;
let onSignedOut: () => void = () => {};
let onOther: (name: string) => void = () => {};

export function setIdentity(now: Identity | null): void {
  identity = now;
}

export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

/** Told when the browser is somebody else's by now: their cookie is sent with whatever this page asks for. */
export function whenAnother(act: (name: string) => void): void {
  onOther = act;
}

export function newKey(): string {
  return crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
}

/** An address from parts, each of which may hold anything. */
export function path(...parts: string[]): string {
  return "/api/" + parts.map(encodeURIComponent).join("/");
}

export function problemText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

function address(to: string, query: Ask["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return to;
  return to + "?" + new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

export async function ask<T>(to: string, options: Ask = {}): Promise<T> {
  return (await read<T>(to, options)).value;
}

/** What a version tag says of an answer goes along: a change is to be made for exactly that. */
export async function read<T>(to: string, options: Ask = {}): Promise<{ value: T; version: string | null }> {
  const response = await request(to, options);
  const version = response.headers.get("etag");
  const text = response.status === 204 ? "" : await response.text();
  const value = (text ? readAnswer(text, options.exactly ? "all" : "others") : undefined) as T;
  return { value, version };
}

/** An answer as it came. */
export async function bytes(to: string): Promise<Blob> {
  return (await request(to, {})).blob();
}

async function request(to: string, options: Ask): Promise<Response> {
  const changes = (options.method ?? "GET") !== "GET";
  const headers: Record<string, string> = { accept: "application/json", ...options.headers };
  if (options.body !== undefined) headers["content-type"] = "application/json";
  if (changes) headers["idempotency-key"] = options.key ?? newKey();
  if (changes && identity?.csrf) headers["x-csrf-token"] = identity.csrf;
  let isRenewed = false;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await attemptOnce(address(to, options.query), options, headers);
    } catch (error) {
      if (changes && !isRenewed && error instanceof Problem && error.code.startsWith("csrf_")) {
        isRenewed = true;
        headers["x-csrf-token"] = await renewed();
        continue;
      }
      const pause = PAUSES[attempt];
      if (options.once || pause === undefined || !mayRepeat(error)) throw error;
      await new Promise((done) => setTimeout(done, pause));
    }
  }
}

/** The word of the session there is now, where it is still the same person's: they signed in anew in another window. */
async function renewed(): Promise<string> {
  const response = await attemptOnce("/api/session", {}, { accept: "application/json" });
  const found = (await response.json()) as { name: string | null; csrf: string | null };
  if (!found.name || !found.csrf) {
    onSignedOut();
    throw new Problem(401, "unauthorized", "You are signed out. Nothing was sent.");
  }
  if (identity && found.name !== identity.name) {
    onOther(found.name);
    const who = `${found.name} is signed in in this browser now, and not ${identity.name}.`;
    throw new Problem(403, OTHER_SESSION, `${who} Nothing was sent in their name.`);
  }
  identity = { name: found.name, csrf: found.csrf };
  return found.csrf;
}

function mayRepeat(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  return (
    error.isUnreachable || error.status === 502 || error.status === 503 || error.code === "idempotency_in_progress"
  );
}

function sent(body: unknown): BodyInit {
  return body instanceof Blob ? body : print(body);
}

async function attemptOnce(to: string, options: Ask, headers: Record<string, string>): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(to, {
      method: options.method ?? "GET",
      headers,
      credentials: "same-origin",
      ...(options.body === undefined ? {} : { body: sent(options.body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached. It may be stopped or starting again.");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function problemOf(response: Response): Promise<Problem> {
  let facts: Record<string, unknown> = {};
  try {
    const read = readAnswer(await response.text());
    if (isFields(read)) facts = read;
  } catch {
    // Not a problem document: what stands in the status line is all there is.
  }
  if (response.status === 401) onSignedOut();
  const detail = typeof facts["detail"] === "string" ? facts["detail"] : `${response.status} ${response.statusText}`;
  const code = typeof facts["code"] === "string" ? facts["code"] : "unknown";
  return new Problem(response.status, code, sentence(detail), facts);
}

// Messages of the server begin in lower case, to stand in a line of a log.
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** All pages of a list. */
export async function all<T>(to: string, query: Ask["query"] = {}, signal?: AbortSignal): Promise<T[]> {
  const found: T[] = [];
  let after: string | undefined;
  do {
    const page: Page<T> = await ask(to, { query: { limit: 1000, ...query, after }, ...(signal ? { signal } : {}) });
    found.push(...page.data);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return found;
}
