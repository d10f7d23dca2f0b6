// Who somebody is here, and what they may do. A session that ends takes nothing away that is on the page: whoever signs in
// again goes on with what they were writing.

import { computed, effect, signal } from "@preact/signals";
import { session as calls } from "../api/calls";
import { Problem, setIdentity, whenAnother, whenSignedOut } from "../api/http";
import type { Session } from "../api/types";
import { go, route } from "../router";
import { connection, startNews, stopNews } from "./news";

export interface Me {
  name: string;
  role: string;
  /** Whether there is a session that can be ended. */
  signedIn: boolean;
}

/** Why somebody cannot go on without signing in, while their view stays as it is. */
export type Interruption = { kind: "ended" } | { kind: "other"; name: string };

export const me = signal<Me | null>(null);
export const interruption = signal<Interruption | null>(null);
export const sessionProblem = signal<string | null>(null);

const ROLES = ["viewer", "member", "approver", "admin"];
const rank = computed(() => ROLES.indexOf(me.value?.role ?? ""));
export const mayPost = computed(() => rank.value >= 1);
export const mayDecide = computed(() => rank.value >= 2);
export const mayManage = computed(() => rank.value >= 3);

/** By what somebody's own things are kept in the browser. */
export function myName(): string {
  return me.peek()?.name ?? "";
}

let comesBackTo = "/";

export async function startSession(): Promise<void> {
  whenSignedOut(askToSignIn);
  whenAnother((name) => interrupt({ kind: "other", name }));
  try {
    const found = await calls.read();
    if (found.required && !found.name) return askToSignIn();
    const name = found.name ?? "human";
    setIdentity({ name, csrf: found.csrf });
    me.value = { name, role: found.role ?? "admin", signedIn: found.required };
  } catch (error) {
    // A server without sessions still says who somebody is.
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    const found = await calls.me();
    me.value = { name: found.name, role: found.role, signedIn: false };
  }
  if (route.peek().view === "sign-in") go(comesBackTo, "replace");
  await startNews();
}

function askToSignIn(): void {
  stopNews();
  if (me.peek()) return interrupt({ kind: "ended" });
  if (route.peek().view !== "sign-in") comesBackTo = location.pathname + location.search + location.hash;
  go({ view: "sign-in" }, "replace");
}

function interrupt(by: Interruption): void {
  stopNews();
  // Whatever else is asked for meanwhile is refused for the same reason.
  if (interruption.peek()?.kind !== by.kind) interruption.value = by;
}

/** Whether it is still the same person: a browser has one session, and another tab may have begun another's. */
async function check(): Promise<void> {
  const known = me.peek();
  if (!known || interruption.peek()) return;
  const found: Session | null = await calls.read().catch(() => null);
  if (!found) return;
  if (found.required && !found.name) askToSignIn();
  else if (known.signedIn && found.name && found.name !== known.name) interrupt({ kind: "other", name: found.name });
}

// The end of a session ends its stream.
let wasLost = false;
effect(() => {
  if (connection.value === "lost") wasLost = true;
  if (connection.value !== "open" || !wasLost) return;
  wasLost = false;
  void check();
});

export async function signIn(token: string): Promise<void> {
  const before = me.peek();
  const found = await calls.start(token);
  const name = found.name ?? "";
  setIdentity({ name, csrf: found.csrf });
  me.value = { name, role: found.role ?? "viewer", signedIn: true };
  interruption.value = null;
  // What was loaded and written belongs to whoever was here.
  if (before?.signedIn && before.name !== name) location.reload();
  if (route.peek().view === "sign-in") go(comesBackTo, "replace");
  await startNews();
}

export async function signOut(): Promise<void> {
  await calls.end();
  setIdentity(null);
  comesBackTo = "/";
  // What was loaded belongs to whoever was here: nothing of it stays.
  location.assign("/sign-in");
}
