// Keys that work everywhere, except where somebody types.

import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { go } from "../router";
import { waitingCount } from "../state/inbox";
import { helpIsOpen } from "./help";
import { focusFirstCard } from "../inbox/focus";
import { showInbox } from "../inbox/panel";
import { judge, PENDING } from "../inbox/watch";

export const switcherIsOpen = signal(false);
/** The list of worlds and chats, where it lies over the view. */
export const drawerIsOpen = signal(false);

const MEANS = new Set(["i", "?", "/"]);

export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, [contenteditable=true]");
}

export function useGlobalKeys(): void {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      if ((event.metaKey || event.ctrlKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        switcherIsOpen.value = !switcherIsOpen.peek();
        return;
      }
      if (event.key === "Escape" && drawerIsOpen.peek()) drawerIsOpen.value = false;
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
      if (document.querySelector("dialog[open]")) return;
      // On a card that waits letters are answers, and none of these.
      if ((event.target as Element | null)?.closest?.(PENDING)) return;
      if (event.key.length !== 1 || event.key === " ") return;
      // In the middle of a text they are letters.
      if (judge(null, event, MEANS.has(event.key) ? "goes" : "nothing") !== "taken") return;
      if (event.key === "i" && waitingCount.peek() > 0) {
        event.preventDefault();
        showInbox();
        focusFirstCard();
      } else if (event.key === "i") go({ view: "inbox" });
      else if (event.key === "?") helpIsOpen.value = true;
      else if (event.key === "/") {
        const place = document.querySelector<HTMLElement>(".composer textarea");
        if (!place) return;
        event.preventDefault();
        place.focus();
      }
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
}
