// Connects the stream of events with everything that follows it. Started once, when it is known who somebody is.

import { signal } from "@preact/signals";
import { findRendering } from "../api/calls";
import { Follower, type Connection } from "../api/follow";
import type { News } from "../api/types";
import { hearOfInbox, refreshInbox } from "./inbox";
import { open, reopenChat } from "./open";
import { hearOfWorlds, loadWorlds } from "./worlds";

export const connection = signal<Connection>("connecting");
/** When the connection was lost, in local milliseconds. */
export const lostSince = signal<number | null>(null);

const listeners = new Set<(news: News) => void>();
let follower: Follower | undefined;
/** Whether somebody is signed in whose news they are. */
let isWanted = false;

/** Hears of everything from now on; returns how to stop. */
export function listen(to: (news: News) => void): () => void {
  listeners.add(to);
  return () => listeners.delete(to);
}

export async function startNews(): Promise<void> {
  isWanted = true;
  // Whoever was signed out and in again goes on after what they heard last.
  if (follower) return follower.start();
  const rendering = findRendering().catch(() => true);
  follower = new Follower((await rendering) ? "/api/events?render=html" : "/api/events", {
    began() {
      void loadWorlds();
      void refreshInbox();
      reopenChat();
    },
    news(news) {
      hearOfWorlds(news);
      hearOfInbox(news);
      open.peek()?.hear(news);
      for (const listener of listeners) listener(news);
    },
    state(state) {
      connection.value = state;
      if (state === "open") lostSince.value = null;
      else if (state === "lost" && lostSince.peek() === null) lostSince.value = Date.now();
    },
  });
  watchTab();
  follower.start();
}

function watchTab(): void {
  addEventListener("online", () => follower?.hurry());
  document.addEventListener("visibilitychange", () => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(() => void takeSlot(), PATIENCE);
    else comeBack();
  });
}

// A browser opens only six connections to a server that speaks HTTP/1. Of the tabs that nobody looks at a few go on listening;
// the others let go of theirs and catch up when somebody looks again.
const SLOTS = ["one", "two", "three"];
const PATIENCE = 10_000;
let leaving: ReturnType<typeof setTimeout> | undefined;
let giveBack: (() => void) | undefined;

async function takeSlot(): Promise<void> {
  if (!navigator.locks || giveBack) return;
  for (const slot of SLOTS) {
    const isTaken = await new Promise<boolean>((answer) => {
      void navigator.locks.request(`agent-world:${slot}`, { ifAvailable: true }, (lock) => {
        answer(lock !== null);
        return lock === null ? undefined : new Promise<void>((done) => (giveBack = done));
      });
    });
    if (isTaken) {
      if (!document.hidden) comeBack();
      return;
    }
  }
  if (document.hidden) follower?.stop();
}

function comeBack(): void {
  giveBack?.();
  giveBack = undefined;
  if (!isWanted) return;
  follower?.start();
  if (connection.peek() !== "open") follower?.hurry();
}

export function tryAgain(): void {
  follower?.hurry();
}

export function stopNews(): void {
  isWanted = false;
  follower?.stop();
}
