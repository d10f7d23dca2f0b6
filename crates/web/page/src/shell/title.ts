// What stands in the tab: how many requests wait, where somebody is, and the same as a sign.

import { effect } from "@preact/signals";
import { route } from "../router";
import { waitingCount } from "../state/inbox";
import { findChat, worldById } from "../state/worlds";
import { tabIcon } from "./tab-icon";

function place(): string {
  const now = route.value;
  switch (now.view) {
    case "chat":
      return findChat(now.world, now.chat)?.title ?? "Chat";
    case "world":
    case "settings":
    case "history":
      return worldById.value.get(now.world)?.name ?? now.world;
    case "inbox":
      return "Inbox";
    case "worlds":
      return "Worlds";
    case "audit":
      return "Audit";
    case "stats":
      return "Statistics";
    case "sign-in":
      return "Sign in";
    default:
      return "";
  }
}

export function startTitle(): void {
  effect(() => {
    const count = waitingCount.value;
    const where = place();
    document.title = `${count > 0 ? `(${count}) ` : ""}${where ? `${where} · ` : ""}Agent World`;
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    const wanted = tabIcon(count);
    if (icon && icon.getAttribute("href") !== wanted) icon.href = wanted;
  });
}
