// Messages on their way. Each is kept, with the key by which the server knows it again, until the server has taken it: what is
// sent again after a reload or a broken connection is there once. Never sent in the name of somebody else than who wrote it.

import { effect, signal } from "@preact/signals";
import { messages as calls } from "../api/calls";
import { newKey, OTHER_SESSION, Problem, problemText } from "../api/http";
import type { Part } from "../api/types";
import { connection } from "./news";
import { interruption, me, myName } from "./session";
import { Shelf } from "./shelf";

export interface Picture {
  id: string;
  name: string;
  url: string;
}

/** A message as it was written. It never changes: its key stands for exactly this. */
export interface Posting {
  key: string;
  who: string;
  world: string;
  chat: string;
  text: string;
  pictures: Picture[];
  /** In local milliseconds. */
  at: number;
}

export interface Pending {
  posting: Posting;
  /** `waiting` is sent again by itself, `held` when somebody says so; `refused` was not taken and never will be. */
  state: "sending" | "waiting" | "held" | "refused";
  problem: string | null;
}

/** In the order they were written. */
export const outbox = signal<readonly Pending[]>([]);
/** What was sent last from this page. */
export const posted = signal<Posting | null>(null);

/** What was written before that is not sent without asking: whoever wrote it may think otherwise by now. */
const OLD = 10 * 60_000;
const PAUSE = 3_000;
const LONGEST_PAUSE = 30_000;
const shelf = new Shelf<Posting>("postings");
/** The chats in which one is being sent: the next waits for it. */
const busy = new Set<string>();
const failures = new Map<string, number>();
const timers = new Map<string, ReturnType<typeof setTimeout>>();
let loadedFor: string | undefined;

/** Sends a message. Done when it is safe: kept, or settled where nothing can be kept. */
export async function post(world: string, chat: string, text: string, pictures: Picture[]): Promise<void> {
  const posting: Posting = { key: newKey(), who: myName(), world, chat, text, pictures, at: Date.now() };
  outbox.value = [...outbox.peek(), { posting, state: "waiting", problem: null }];
  posted.value = posting;
  const isKept = await shelf.put(posting);
  const work = workOn(chat);
  if (!isKept) await work;
}

/** Takes a message out, to be written otherwise. Whoever does has put its text elsewhere. */
export function takeBack(key: string): void {
  drop(key);
}

export function sendNow(chat: string): void {
  for (const one of outbox.peek()) {
    if (one.posting.chat === chat && one.state === "held") change(one.posting.key, { state: "waiting" });
  }
  failures.delete(chat);
  void workOn(chat);
}

/** Tries everything that waits. */
function hurry(): void {
  for (const chat of new Set(outbox.peek().map((one) => one.posting.chat))) void workOn(chat);
}

export function startOutbox(): void {
  effect(() => {
    const name = me.value?.name;
    if (name !== undefined && interruption.value === null) void load(name);
  });
  effect(() => {
    if (connection.value === "open" && interruption.value === null) hurry();
  });
}

/** What was not taken before the page was left. */
async function load(who: string): Promise<void> {
  if (loadedFor === who) return hurry();
  loadedFor = who;
  const found = (await shelf.all()).filter((posting) => posting.who === who).sort((a, b) => a.at - b.at);
  const known = new Set(outbox.peek().map((one) => one.posting.key));
  const fresh = found.filter((posting) => !known.has(posting.key));
  const isOld = (posting: Posting) => Date.now() - posting.at > OLD;
  const pending = fresh.map(
    (posting): Pending => ({ posting, state: isOld(posting) ? "held" : "waiting", problem: null }),
  );
  outbox.value = [...pending, ...outbox.peek().filter((one) => one.posting.who === who)];
  hurry();
}

async function workOn(chat: string): Promise<void> {
  if (busy.has(chat)) return;
  busy.add(chat);
  try {
    for (;;) {
      const next = outbox.peek().find((one) => one.posting.chat === chat && one.state !== "refused");
      const isOurs = next?.posting.who === myName() && interruption.peek() === null;
      if (!next || next.state === "held" || !isOurs || !(await deliver(next.posting))) return;
    }
  } finally {
    busy.delete(chat);
  }
}

/** Whether it is settled, and the next one's turn. */
async function deliver(posting: Posting): Promise<boolean> {
  change(posting.key, { state: "sending" });
  try {
    await calls.post(posting.world, posting.chat, contentOf(posting), posting.key);
    failures.delete(posting.chat);
    drop(posting.key);
    return true;
  } catch (error) {
    const isFinal = isRefusal(error);
    change(posting.key, { state: isFinal ? "refused" : "waiting", problem: problemText(error) });
    if (!isFinal) tryLater(posting.chat);
    return isFinal;
  }
}

function contentOf({ text, pictures }: Posting): string | Part[] {
  if (pictures.length === 0) return text;
  const images: Part[] = pictures.map((picture) => ({ type: "input_image", image_url: picture.url }));
  return text ? [{ type: "input_text", text }, ...images] : images;
}

/** Whether the server has certainly not taken it, and will not. Whatever else went wrong, it may have arrived. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Problem) || error.status < 400 || error.status >= 500) return false;
  if (error.code === OTHER_SESSION || error.code.startsWith("csrf_") || error.code === "idempotency_in_progress")
    return false;
  return ![401, 408, 425, 429].includes(error.status);
}

function tryLater(chat: string): void {
  const count = failures.get(chat) ?? 0;
  failures.set(chat, count + 1);
  clearTimeout(timers.get(chat));
  timers.set(
    chat,
    setTimeout(() => void workOn(chat), Math.min(LONGEST_PAUSE, PAUSE * 2 ** count)),
  );
}

function change(key: string, by: Partial<Pending>): void {
  outbox.value = outbox.peek().map((one) => (one.posting.key === key ? { ...one, ...by } : one));
}

function drop(key: string): void {
  outbox.value = outbox.peek().filter((one) => one.posting.key !== key);
  void shelf.remove(key);
}
