// The inbox beside the view, on screens that are wide enough; and how to get to a card from anywhere.

import { computed, signal, type Signal } from "@preact/signals";
import { go, href, route } from "../router";
import { inbox, waitingCount } from "../state/inbox";
import { inboxPanel } from "../state/kept";
import { mayDecide } from "../state/session";
import { Icon } from "../ui/icons";
import { focusCard, focusFirstCard } from "./focus";
import { InboxList, NoDeciding } from "./list";

function watched(query: string): Signal<boolean> {
  const found = matchMedia(query);
  const matches = signal(found.matches);
  found.addEventListener("change", () => (matches.value = found.matches));
  return matches;
}

const isWideScreen = watched("(min-width: 1180px)");
/** Wide enough for settings and tables beside it. */
const isVeryWide = watched("(min-width: 1560px)");
const BESIDE = new Set(["chat", "world", "home"]);

/** Whether there is room for it beside the view. */
export const isWide = computed(
  () => route.value.view !== "inbox" && (BESIDE.has(route.value.view) ? isWideScreen.value : isVeryWide.value),
);
export const isPanelShown = computed(() => isWide.value && inboxPanel.value === "open" && inbox.value.length > 0);

/** Goes to what waits, or to one request. */
export function showInbox(id?: string): void {
  if (isWide.peek() && inbox.peek().length > 0) {
    inboxPanel.value = "open";
    if (id) focusCard(id);
    else focusFirstCard();
  } else go(href(id ? { view: "inbox", approval: id } : { view: "inbox" }));
}

export function InboxPanel() {
  const count = waitingCount.value;
  return (
    <aside class="panel" aria-label="Inbox">
      <header class="panel-head">
        <h2>{mayDecide.value ? "Waiting for you" : "Waiting"} {count > 0 && <span class="badge">{count}</span>}</h2>
        <a class="icon-button" href="/inbox" aria-label="Open the inbox as a page" title="Open as a page">
          <Icon name="inbox" />
        </a>
        <button
          type="button"
          class="icon-button"
          aria-label="Close the panel"
          onClick={() => (inboxPanel.value = "closed")}
        >
          <Icon name="close" />
        </button>
      </header>
      <div class="panel-scroll">
        <NoDeciding />
        <InboxList />
      </div>
    </aside>
  );
}
