// Asks the server. Turns problem documents into errors that can be shown, and repeats what may safely be repeated: reading,
// and changes, since each of those carries a key by which the server knows it again.

import type { Page } from "./types";

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
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Only one attempt, where somebody waits for the answer and can repeat it. */
  once?: boolean;
}

const PAUSES = [300, 1_000, 2_500];
let csrf: string | null = null;
let onSignedOut: () => void = () => {};

export function setCsrf(token: string | null): void {
  csrf = token;
}

export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

async function readCsrf(): Promise<void> {
  const found = await attemptOnce<{ csrf: string | null }>("/api/session", {}, { accept: "application/json" });
  csrf = found.csrf;
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
  const changes = (options.method ?? "GET") !== "GET";
  const headers: Record<string, string> = { accept: "application/json", ...options.headers };
  if (options.body !== undefined) headers["content-type"] = "application/json";
  if (changes) headers["idempotency-key"] = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
  if (changes && csrf) headers["x-csrf-token"] = csrf;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await attemptOnce<T>(address(to, options.query), options, headers);
    } catch (error) {
      // Somebody signed in anew in another window: this one has the old word.
      if (changes && attempt === 0 && error instanceof Problem && error.code.startsWith("csrf_")) {
        await readCsrf();
        if (csrf) headers["x-csrf-token"] = csrf;
        continue;
      }
      const pause = PAUSES[attempt];
      if (options.once || pause === undefined || !mayRepeat(error)) throw error;
      await new Promise((done) => setTimeout(done, pause));
    }
  }
}

function mayRepeat(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  return (
    error.isUnreachable || error.status === 502 || error.status === 503 || error.code === "idempotency_in_progress"
  );
}

async function attemptOnce<T>(to: string, options: Ask, headers: Record<string, string>): Promise<T> {
  let response: Response;
  try {
    response = await fetch(to, {
      method: options.method ?? "GET",
      headers,
      credentials: "same-origin",
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached. It may be stopped or starting again.");
  }
  if (!response.ok) throw await problemOf(response);
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export async function problemOf(response: Response): Promise<Problem> {
  let facts: Record<string, unknown> = {};
  try {
    facts = (await response.json()) as Record<string, unknown>;
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
