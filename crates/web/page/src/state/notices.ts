// Tells of new requests through the system, for whoever turned that on and is looking at something else. Says who asks and
// where, never what: other people see a screen, and commands may hold what they should not.

import { effect, untracked } from "@preact/signals";
import type { Approval } from "../api/types";
import { plural } from "../words";
import { inboxIsLoaded, waiting } from "./inbox";
import { notices } from "./kept";
import { mayDecide } from "./session";
import { announce, tell } from "./toasts";
import { findChat, worldById } from "./worlds";

/** Requests that come together are told of together. */
const TOGETHER = 300;
/** More than these are told of as a number. */
const FEW = 3;
const MANY = "many";

const shown = new Map<string, Notification>();

/** Whether this browser can, and here: elsewhere than on this machine it must be over HTTPS. */
const canShow = () => "Notification" in globalThis;

export const areOn = () => notices.value === "on" && canShow() && Notification.permission === "granted";

/** Turns them on, for which the browser asks; or off. */
export async function toggleNotices(): Promise<void> {
  if (areOn()) {
    notices.value = "off";
    tell("Notifications are off.");
    return;
  }
  if (!canShow())
    return tell("This browser shows notifications only for pages over HTTPS, or of this machine itself.", "bad");
  const answer = await Notification.requestPermission();
  notices.value = answer === "granted" ? "on" : "off";
  if (answer === "granted")
    tell("You are told of new requests while this page is open, even when you look elsewhere.", "good");
  else tell("The browser does not allow notifications of this page. Its settings for this address do.", "bad");
}

/** What a notification says of a request. */
export function wording(approval: Approval): { title: string; body: string } {
  const world = worldById.peek().get(approval.world_id);
  const agent = world?.agents.find((one) => one.id === approval.agent_id)?.name ?? approval.agent_id;
  const chat = findChat(approval.world_id, approval.chat_id)?.title;
  return {
    title: `${agent} waits for your word`,
    body: [approval.tool, world?.name ?? approval.world_id, chat].filter(Boolean).join(" · "),
  };
}

/** Begins to watch. `open` shows a request, or what waits. */
export function startNotices(open: (approval?: string) => void): void {
  let known: Set<string> | null = null;
  let fresh: string[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const now = waiting.value.map((one) => one.approval.id);
    if (!inboxIsLoaded.value) return;
    const news = known ? now.filter((id) => !known?.has(id)) : [];
    if (news.length > 0) announce(`${plural(now.length, "request")} waiting for approval`);
    // What waited before the page was opened, or before somebody wanted to be told, is no news.
    if (untracked(areOn)) fresh.push(...news);
    known = new Set(now);
    // What is settled needs nobody any more.
    for (const [id, notification] of shown) {
      if (known.has(id) || (id === MANY && known.size > 0)) continue;
      notification.close();
      shown.delete(id);
    }
    if (fresh.length === 0) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const waits = waiting.peek().filter((one) => fresh.includes(one.approval.id));
      fresh = [];
      if (!areOn() || !mayDecide.peek() || (!document.hidden && document.hasFocus())) return;
      show(
        waits.map((one) => one.approval),
        open,
      );
    }, TOGETHER);
  });
}

function show(all: Approval[], open: (approval?: string) => void): void {
  if (all.length > FEW) {
    put(MANY, `${plural(all.length, "request")} wait for your word`, "", () => open());
    return;
  }
  for (const approval of all) {
    const { title, body } = wording(approval);
    put(approval.id, title, body, () => open(approval.id));
  }
}

function put(id: string, title: string, body: string, act: () => void): void {
  try {
    // Of several tabs only one is seen: the same tag replaces.
    const notification = new Notification(title, { body, tag: `agent-world:${id}` });
    notification.onclick = () => {
      globalThis.focus();
      notification.close();
      act();
    };
    shown.set(id, notification);
  } catch {
    // Some browsers have the name and not the thing.
    notices.value = "off";
  }
}
