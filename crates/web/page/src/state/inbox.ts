// What waits for a person in all worlds, and what became of it. A fold of what is loaded and heard: nothing is taken for
// decided before the server says so.

import { computed, signal } from "@preact/signals";
import { approvals as calls } from "../api/calls";
import { Problem, problemText } from "../api/http";
import type { Approval, Decision, News } from "../api/types";

export interface Waiting {
  approval: Approval;
  /** A decision made here is on its way, or the server confirmed it. */
  ours: "no" | "sent" | "yes";
  /** When it became settled while it was shown, in local milliseconds. */
  settledAt: number | null;
  problem: string | null;
  /** For which calls a lasting permission was given here, in words. */
  chosen: string | null;
}

/** All that are shown, oldest first: those that wait, and those settled while they were shown. */
export const inbox = signal<Waiting[]>([]);
export const inboxIsLoaded = signal(false);
/** Why what waits could not be loaded: what is shown may not be all. */
export const inboxProblem = signal<string | null>(null);
export const waiting = computed(() => inbox.value.filter((one) => one.approval.state === "pending"));
export const waitingCount = computed(() => waiting.value.length);

const settled = new Set<string>();

export function waitingIn(chat: string): number {
  return waiting.value.filter((one) => one.approval.chat_id === chat).length;
}

export async function loadInbox(): Promise<void> {
  const found = await calls.waiting();
  const known = new Map(inbox.peek().map((one) => [one.approval.id, one]));
  const now = found.filter((approval) => !settled.has(approval.id));
  const ids = new Set(now.map((approval) => approval.id));
  // Whoever was away missed what became of the others: they are asked for, not guessed.
  const gone = [...known.values()].filter((one) => one.approval.state === "pending" && !ids.has(one.approval.id));
  inbox.value = sorted([
    ...[...known.values()].filter((one) => !ids.has(one.approval.id)),
    ...now.map((approval) => known.get(approval.id) ?? fresh(approval)),
  ]);
  inboxIsLoaded.value = true;
  inboxProblem.value = null;
  for (const one of gone) void learn(one.approval.id);
}

const PAUSES = [2_000, 5_000, 15_000, 30_000];
let again: ReturnType<typeof setTimeout> | undefined;

/** Loads what waits; where that fails it says so and tries again by itself, later and later. */
export async function refreshInbox(attempt = 0): Promise<void> {
  clearTimeout(again);
  try {
    await loadInbox();
  } catch (error) {
    inboxProblem.value = problemText(error);
    // What the server refuses it refuses the next time, too.
    if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) return;
    clearTimeout(again);
    again = setTimeout(() => void refreshInbox(attempt + 1), PAUSES[Math.min(attempt, PAUSES.length - 1)]);
  }
}

/** Asks what became of a request. */
export async function learn(id: string): Promise<void> {
  try {
    hearApproval(await calls.read(id));
  } catch (error) {
    if (error instanceof Problem && error.status === 404)
      inbox.value = inbox.peek().filter((one) => one.approval.id !== id);
  }
}

function fresh(approval: Approval): Waiting {
  return { approval, ours: "no", settledAt: null, problem: null, chosen: null };
}

function sorted(all: Waiting[]): Waiting[] {
  const key = (one: Waiting) => `${one.approval.created_at} ${one.approval.id}`;
  return all.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

export function hearOfInbox(news: News): void {
  if (news.type === "approval") hearApproval(news.data);
  if (news.type !== "crud" || news.data.action !== "deleted") return;
  // What waited in a chat or a world that is gone does not wait any more, and nobody may have told so.
  const { entity, id } = news.data;
  if (entity === "chat") inbox.value = inbox.peek().filter((one) => one.approval.chat_id !== id);
  if (entity === "world") inbox.value = inbox.peek().filter((one) => one.approval.world_id !== id);
}

export function hearApproval(approval: Approval): void {
  const known = inbox.peek().find((one) => one.approval.id === approval.id);
  if (approval.state === "pending") {
    if (!known && !settled.has(approval.id)) inbox.value = sorted([...inbox.peek(), fresh(approval)]);
    return;
  }
  settled.add(approval.id);
  if (!known || known.approval.state !== "pending") return;
  change(approval.id, {
    approval: { ...approval, context: approval.context ?? known.approval.context ?? null },
    settledAt: Date.now(),
    ours: known.ours === "no" ? "no" : "yes",
    problem: null,
  });
}

function change(id: string, by: Partial<Waiting>): void {
  inbox.value = inbox.peek().map((one) => (one.approval.id === id ? { ...one, ...by } : one));
}

/** Takes settled ones off the list, except those to be kept. */
export function clearSettled(isKept: (one: Waiting) => boolean): void {
  inbox.value = inbox.peek().filter((one) => one.approval.state === "pending" || isKept(one));
}

export async function decide(approval: Approval, decision: Decision): Promise<boolean> {
  const known = inbox.peek().find((one) => one.approval.id === approval.id);
  if (known && known.ours === "sent") return false;
  const chosen = decision.match === undefined ? null : (approval.suggested_matches[decision.match]?.label ?? null);
  change(approval.id, { ours: "sent", problem: null, chosen });
  try {
    // Who and what it is believed to be about goes along: the server refuses what does not fit.
    hearApproval(await calls.decide(approval.id, { ...decision, agent_id: approval.agent_id, tool: approval.tool }));
    return true;
  } catch (error) {
    const earlier = error instanceof Problem ? (error.facts["approval"] as Approval | undefined) : undefined;
    change(approval.id, {
      ours: "no",
      problem: earlier ? null : error instanceof Error ? error.message : String(error),
    });
    if (earlier) hearApproval(earlier);
    return false;
  }
}

/** How many others were settled by the permission that a decision gave. */
export function releasedBy(approval: Approval, all: Waiting[]): number {
  if (approval.decision !== "approve" || (approval.scope !== "session" && approval.scope !== "always")) return 0;
  const at = approval.decided_at ?? "";
  return all.filter(({ approval: other }) => {
    if (other.id === approval.id || !other.decided_through || other.agent_id !== approval.agent_id) return false;
    const isSamePlace =
      approval.scope === "session" ? other.chat_id === approval.chat_id : other.world_id === approval.world_id;
    return isSamePlace && other.tool === approval.tool && (other.decided_at ?? "") >= at;
  }).length;
}
