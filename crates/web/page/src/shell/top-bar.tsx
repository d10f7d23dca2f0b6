// The bar above every view: where one is, and the way to what waits.

import type { ComponentChildren } from "preact";
import { isPanelShown, showInbox, isWide } from "../inbox/panel";
import { href } from "../router";
import { inboxIsLoaded, inboxProblem, waitingCount } from "../state/inbox";
import { inboxPanel, sidebar } from "../state/kept";
import { Icon } from "../ui/icons";
import { plural } from "../words";
import { drawerIsOpen } from "./keys";

interface Props {
  title: string;
  sub?: ComponentChildren;
  world?: string;
  children?: ComponentChildren;
}

export function TopBar({ title, sub, world, children }: Props) {
  const count = waitingCount.value;
  const isAll = inboxIsLoaded.value && !inboxProblem.value;
  const label = count > 0 ? `Inbox, ${plural(count, "request")} waiting` : isAll ? "Inbox, nothing waits" : "Inbox";
  const toggle = () => {
    if (isPanelShown.peek()) inboxPanel.value = "closed";
    else showInbox();
  };
  return (
    <header class="top-bar">
      <button
        type="button"
        class="icon-button only-narrow"
        aria-label="Worlds and chats"
        aria-expanded={drawerIsOpen.value}
        onClick={() => (drawerIsOpen.value = true)}
      >
        <Icon name="menu" />
      </button>
      {sidebar.value === "closed" && (
        <button
          type="button"
          class="icon-button only-wide"
          aria-label="Show the list"
          title="Show the list"
          onClick={() => (sidebar.value = "open")}
        >
          <Icon name="side" />
        </button>
      )}
      <div class="top-title">
        <h1 class="cut">{title}</h1>
        {sub && <div class="top-sub soft">{sub}</div>}
      </div>
      {children}
      {world && (
        <a
          class="icon-button"
          href={href({ view: "settings", world })}
          aria-label="Settings of this world"
          title="Settings of this world"
        >
          <Icon name="gear" />
        </a>
      )}
      <button
        type="button"
        class={`icon-button inbox-button ${count > 0 ? "waiting" : ""}`}
        aria-label={label}
        title={label}
        aria-pressed={isWide.value ? isPanelShown.value : undefined}
        onClick={toggle}
      >
        <Icon name="inbox" />
        {count > 0 && (
          <span class="badge" aria-hidden="true">
            {count}
          </span>
        )}
      </button>
    </header>
  );
}
