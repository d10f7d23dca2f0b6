// Finds a chat or a view by a few letters.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, href } from "../router";
import { chats, nameOfWorld, wantChats, worlds } from "../state/worlds";
import { Dialog } from "../ui/dialog";
import { switcherIsOpen } from "./keys";

interface Place {
  id: string;
  name: string;
  where: string;
  to: string;
}

/** How many are shown at once. */
const MOST = 30;

export function Switcher() {
  return switcherIsOpen.value ? <Open /> : null;
}

function Open() {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => worlds.peek()?.forEach((world) => wantChats(world.id)), []);
  const all = useMemo(places, [chats.value, worlds.value]);
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = all.filter((place) =>
    words.every((word) => `${place.name} ${place.where}`.toLowerCase().includes(word)),
  );
  const found = fitting.slice(0, MOST);
  const marked = Math.min(at, found.length - 1);
  const close = () => (switcherIsOpen.value = false);
  const key = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) {
      event.preventDefault();
      const to = (marked + step + found.length) % Math.max(1, found.length);
      setAt(to);
      list.current?.children[to]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      const place = found[marked];
      if (place) {
        close();
        go(place.to);
      }
    }
  };
  return (
    <Dialog title="Go to" onClose={close} kind="dialog-switcher">
      <input
        class="switcher-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="switcher-list"
        aria-label="Chat or view"
        aria-activedescendant={found[marked] ? `place-${marked}` : undefined}
        placeholder="Chat, world or view"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={key}
        autofocus
      />
      <ul id="switcher-list" role="listbox" aria-label="Found" class="switcher-list" ref={list}>
        {found.map((place, index) => (
          <li
            key={place.id}
            id={`place-${index}`}
            role="option"
            aria-selected={index === marked}
            onMouseMove={() => setAt(index)}
            onClick={() => {
              close();
              go(place.to);
            }}
          >
            <span class="cut">{place.name}</span>
            <span class="soft cut">{place.where}</span>
          </li>
        ))}
      </ul>
      {fitting.length > MOST && (
        <p class="soft small-text pad" role="status">
          {fitting.length - MOST} more: write more of the name
        </p>
      )}
      {found.length === 0 && (
        <p class="soft pad" role="status">
          Nothing is called that
        </p>
      )}
    </Dialog>
  );
}

function places(): Place[] {
  const views: Place[] = [
    { id: "inbox", name: "Inbox", where: "What waits for you", to: "/inbox" },
    { id: "worlds", name: "Worlds", where: "All worlds", to: "/worlds" },
    { id: "stats", name: "Statistics", where: "Use of tools and models", to: "/stats" },
    { id: "audit", name: "Audit", where: "Who did what", to: "/audit" },
  ];
  const known = (worlds.value ?? []).flatMap((world) => [
    ...(chats.value[world.id] ?? []).map((chat) => ({
      id: chat.id,
      name: chat.title,
      where: nameOfWorld(world.id),
      to: href({ view: "chat", world: world.id, chat: chat.id }),
    })),
    {
      id: `settings ${world.id}`,
      name: `Settings of ${nameOfWorld(world.id)}`,
      where: "World",
      to: href({ view: "settings", world: world.id }),
    },
    {
      id: `history ${world.id}`,
      name: `History of ${nameOfWorld(world.id)}`,
      where: "World",
      to: href({ view: "history", world: world.id }),
    },
  ]);
  return [...known, ...views];
}
