// The list of worlds and their chats, and the way to everything else. On narrow screens it lies over the view.

import { useEffect, useRef, useState } from "preact/hooks";
import { chats as calls } from "../api/calls";
import type { Chat, World } from "../api/types";
import calm from "../icons/calm.svg";
import { go, href, route } from "../router";
import { waiting, waitingCount } from "../state/inbox";
import { colours, keep, recall, sidebar, type Colours } from "../state/kept";
import { areOn, toggleNotices } from "../state/notices";
import { mayDecide, mayPost, me, signOut } from "../state/session";
import { attempt } from "../state/toasts";
import { chats, nameOfWorld, putChat, unread, wantChats, worlds, worldsProblem } from "../state/worlds";
import { askFor, confirm } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { Menu, type Item } from "../ui/menu";
import { now } from "../ui/now";
import { age } from "../words";
import { helpIsOpen } from "./help";
import { drawerIsOpen, switcherIsOpen } from "./keys";

export function Sidebar() {
  const isOpen = drawerIsOpen.value;
  useEffect(() => {
    drawerIsOpen.value = false;
  }, [route.value]);
  const place = useRef<HTMLElement>(null);
  const wasOpen = useRef(false);
  useEffect(() => {
    if (isOpen) place.current?.querySelector<HTMLElement>("a")?.focus();
    else if (wasOpen.current) document.querySelector<HTMLElement>(".top-bar .only-narrow")?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  const count = waitingCount.value;
  return (
    <>
      {isOpen && <div class="drawer-shade" onClick={() => (drawerIsOpen.value = false)} />}
      <nav
        ref={place}
        class={`sidebar ${isOpen ? "drawer-open" : ""} ${sidebar.value === "closed" ? "folded" : ""}`}
        aria-label="Worlds and chats"
      >
        <div class="sidebar-top">
          <a class="brand" href="/">
            <img src={calm} width="22" height="22" alt="" /> Agent World
          </a>
          <button
            type="button"
            class="icon-button"
            aria-label="Find a chat"
            title="Find a chat (Ctrl K)"
            onClick={() => (switcherIsOpen.value = true)}
          >
            <Icon name="search" />
          </button>
          <button
            type="button"
            class="icon-button only-wide"
            aria-label="Hide the list"
            title="Hide the list"
            onClick={() => (sidebar.value = "closed")}
          >
            <Icon name="side" />
          </button>
        </div>
        <ul class="links">
          <li>
            <a class="link" href="/inbox" aria-current={route.value.view === "inbox" ? "page" : undefined}>
              <Icon name="inbox" /> Inbox
              {count > 0 && (
                <span class="badge" aria-label={`${count} waiting`}>
                  {count}
                </span>
              )}
            </a>
          </li>
        </ul>
        <div class="sidebar-scroll">
          {worldsProblem.value && (
            <p class="soft pad" role="alert">
              {worldsProblem.value}
            </p>
          )}
          {worlds.value?.map((world) => (
            <WorldItem key={world.id} world={world} />
          ))}
          {worlds.value === null && !worldsProblem.value && <Skeleton />}
        </div>
        <Bottom />
      </nav>
    </>
  );
}

function Skeleton() {
  return (
    <div class="skeletons" role="status" aria-label="Loading worlds">
      {[1, 2, 3, 4].map((one) => (
        <span key={one} class="skeleton" />
      ))}
    </div>
  );
}

function Bottom() {
  const next: Record<Colours, Colours> = { auto: "light", light: "dark", dark: "auto" };
  const names: Record<Colours, string> = { auto: "as the system", light: "light", dark: "dark" };
  const icons = { auto: "half", light: "sun", dark: "moon" } as const;
  const view = route.value.view;
  const now = colours.value;
  return (
    <div class="sidebar-bottom">
      <ul class="links">
        <li>
          <a class="link" href="/worlds" aria-current={view === "worlds" ? "page" : undefined}>
            <Icon name="globe" /> Worlds
          </a>
        </li>
        <li>
          <a class="link" href="/stats" aria-current={view === "stats" ? "page" : undefined}>
            <Icon name="chart" /> Statistics
          </a>
        </li>
        <li>
          <a class="link" href="/audit" aria-current={view === "audit" ? "page" : undefined}>
            <Icon name="list" /> Audit
          </a>
        </li>
      </ul>
      <div class="whoami">
        <span class="soft" title={`Role: ${me.value?.role ?? ""}`}>
          {me.value?.name}
          {!mayPost.value && " · may only look"}
        </span>
        {mayDecide.value && (
          <button
            type="button"
            class="icon-button"
            aria-label="Notifications of new requests"
            aria-pressed={areOn()}
            title={`Notifications of new requests: ${areOn() ? "on" : "off"}`}
            onClick={() => void toggleNotices()}
          >
            <Icon name={areOn() ? "bell" : "bellOff"} />
          </button>
        )}
        <button
          type="button"
          class="icon-button"
          aria-label={`Colours: ${names[now]}`}
          title={`Colours: ${names[now]}`}
          onClick={() => (colours.value = next[now])}
        >
          <Icon name={icons[now]} />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Help and keys"
          title="Help and keys (?)"
          onClick={() => (helpIsOpen.value = true)}
        >
          <Icon name="help" />
        </button>
        {me.value?.signedIn && (
          <button
            type="button"
            class="icon-button"
            aria-label="Sign out"
            title="Sign out"
            onClick={() => attempt(signOut)}
          >
            <Icon name="out" />
          </button>
        )}
      </div>
    </div>
  );
}

const FEW = 8;

function WorldItem({ world }: { world: World }) {
  const here = "world" in route.value && route.value.world === world.id;
  const [isOpen, setOpen] = useState(() => recall(`folded:${world.id}`) === null);
  const [all, setAll] = useState(false);
  useEffect(() => {
    if (isOpen || here) wantChats(world.id);
  }, [isOpen, here]);
  const fold = () => {
    keep(`folded:${world.id}`, isOpen ? "yes" : null);
    setOpen(!isOpen);
  };
  const known = chats.value[world.id];
  const name = nameOfWorld(world.id);
  const waits = waiting.value.filter((one) => one.approval.world_id === world.id).length;
  const shown = all ? known : known?.slice(0, FEW);
  return (
    <section class="world" aria-label={name}>
      <div class="world-head">
        <button type="button" class="fold" aria-expanded={isOpen} onClick={fold}>
          <Icon name="chevron" class={`icon turn ${isOpen ? "turned" : ""}`} />
          <span class="cut" title={name}>
            {name}
          </span>
        </button>
        {!isOpen && waits > 0 && <span class="badge">{waits}</span>}
        <Menu label={`Menu of ${name}`} items={worldItems(world)} />
        {mayPost.value && (
          <button
            type="button"
            class="icon-button"
            aria-label={`New chat in ${name}`}
            title="New chat"
            onClick={() => newChat(world.id)}
          >
            <Icon name="plus" />
          </button>
        )}
      </div>
      {isOpen && (
        <ul class="chats">
          {shown?.map((chat) => (
            <ChatItem key={chat.id} chat={chat} />
          ))}
          {known && known.length === 0 && <li class="soft pad">No chats yet</li>}
          {known && known.length > FEW && (
            <li>
              <button type="button" class="text-button pad" onClick={() => setAll(!all)}>
                {all ? "Show fewer" : `Show ${known.length - FEW} more`}
              </button>
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

function worldItems(world: World): Item[] {
  return [
    { label: "Settings", icon: "gear", act: () => go({ view: "settings", world: world.id }) },
    { label: "History", icon: "clock", act: () => go({ view: "history", world: world.id }) },
  ];
}

export async function newChat(world: string): Promise<void> {
  await attempt(async () => {
    const chat = await calls.create(world);
    putChat(chat);
    go({ view: "chat", world, chat: chat.id });
    setTimeout(() => document.querySelector<HTMLElement>(".composer textarea")?.focus(), 50);
  });
}

function ChatItem({ chat }: { chat: Chat }) {
  const now_ = route.value;
  const isHere = now_.view === "chat" && now_.chat === chat.id;
  const waits = waiting.value.filter((one) => one.approval.chat_id === chat.id).length;
  const isBusy = chat.activity.state === "busy" && waits === 0;
  return (
    <li class={`chat-item ${isHere ? "here" : ""}`}>
      <a href={href({ view: "chat", world: chat.world_id, chat: chat.id })} aria-current={isHere ? "page" : undefined}>
        <span class={`cut ${unread.value.has(chat.id) ? "strong" : ""}`}>{chat.title}</span>
        {waits > 0 && (
          <span class="badge" aria-label={`${waits} waiting`}>
            {waits}
          </span>
        )}
        {isBusy && <span class="pulse" role="img" aria-label="Agents at work" />}
        {!waits && !isBusy && unread.value.has(chat.id) && <span class="dot" role="img" aria-label="Unread" />}
        {!waits && !isBusy && !unread.value.has(chat.id) && (
          <span class="soft age">{age(chat.updated_at, now.value)}</span>
        )}
      </a>
      {mayPost.value && <Menu label={`Menu of ${chat.title}`} items={chatItems(chat)} />}
    </li>
  );
}

export function chatItems(chat: Chat): Item[] {
  const rename = async () => {
    const title = await askFor("Rename chat", "Title", chat.title, "Rename");
    if (title) await attempt(async () => putChat(await calls.rename(chat.world_id, chat.id, title)));
  };
  const remove = async () => {
    const text = `“${chat.title}” goes with everything said in it, and agents stop working there. This cannot be undone.`;
    if (!(await confirm("Delete this chat?", text, "Delete"))) return;
    const isHere = route.peek().view === "chat" && (route.peek() as { chat: string }).chat === chat.id;
    if ((await attempt(() => calls.remove(chat.world_id, chat.id))) && isHere)
      go({ view: "world", world: chat.world_id });
  };
  return [
    { label: "Rename", icon: "edit", act: () => void rename() },
    { label: "Delete", icon: "trash", act: () => void remove(), isDangerous: true },
  ];
}
