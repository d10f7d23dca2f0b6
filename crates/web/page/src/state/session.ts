// Who somebody is here, and what they may do.

import { computed, signal } from "@preact/signals";
import { session as calls } from "../api/calls";
import { Problem, setCsrf, whenSignedOut } from "../api/http";
import { go, route } from "../router";
import { startNews, stopNews } from "./news";

export interface Me {
  name: string;
  role: string;
  /** Whether there is a session that can be ended. */
  signedIn: boolean;
}

export const me = signal<Me | null>(null);
/** Somebody was signed in and is not any more, without having said so. */
export const sessionEnded = signal(false);
export const sessionProblem = signal<string | null>(null);

const ROLES = ["viewer", "member", "approver", "admin"];
const rank = computed(() => ROLES.indexOf(me.value?.role ?? ""));
export const mayPost = computed(() => rank.value >= 1);
export const mayDecide = computed(() => rank.value >= 2);
export const mayManage = computed(() => rank.value >= 3);

let comesBackTo = "/";

export async function startSession(): Promise<void> {
  whenSignedOut(askToSignIn);
  try {
    const found = await calls.read();
    setCsrf(found.csrf);
    if (found.required && !found.name) return askToSignIn();
    me.value = { name: found.name ?? "human", role: found.role ?? "admin", signedIn: found.required };
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
  if (me.peek()) sessionEnded.value = true;
  me.value = null;
  if (route.peek().view !== "sign-in") comesBackTo = location.pathname;
  go({ view: "sign-in" }, "replace");
}

export async function signIn(token: string): Promise<void> {
  const found = await calls.start(token);
  setCsrf(found.csrf);
  sessionEnded.value = false;
  me.value = { name: found.name ?? "", role: found.role ?? "viewer", signedIn: true };
  go(comesBackTo, "replace");
  await startNews();
}

export async function signOut(): Promise<void> {
  await calls.end();
  setCsrf(null);
  comesBackTo = "/";
  // What was loaded belongs to whoever was here: nothing of it stays.
  location.assign("/sign-in");
}
