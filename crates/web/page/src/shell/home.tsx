// Where somebody begins: the last chat, or a new one; and the way to a first world.

import { useEffect } from "preact/hooks";
import { go, href } from "../router";
import { mayManage } from "../state/session";
import { chats, wantChats, worldById, worlds, worldsProblem, loadWorlds } from "../state/worlds";
import { Icon } from "../ui/icons";
import { Avatar, Empty, Failure, Loading } from "../ui/parts";
import { now } from "../ui/now";
import { age } from "../words";
import { NoWorld } from "./no-world";
import { TopBar } from "./top-bar";
import { newChat } from "./sidebar";
import { mayPost } from "../state/session";

export function Home() {
  const all = worlds.value;
  useEffect(() => all?.forEach((world) => wantChats(world.id)), [all]);
  const known = Object.values(chats.value).flat();
  const isLoaded = all !== null && all.every((world) => chats.value[world.id] !== undefined);
  // The last chat is where one went on from: it opens by itself.
  useEffect(() => {
    if (!isLoaded) return;
    const last = [...known].sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))[0];
    if (last) go({ view: "chat", world: last.world_id, chat: last.id }, "replace");
  }, [isLoaded]);
  if (worldsProblem.value) return <Failure text={worldsProblem.value} again={() => void loadWorlds()} />;
  if (!isLoaded || known.length > 0) return <Loading />;
  if (all.length > 0) return <WorldStart world={all[0]?.id ?? ""} />;
  return (
    <>
      <TopBar title="Agent World" />
      <Empty icon="globe" title="There is no world yet">
        <p class="soft">A world has agents that talk with you and with each other, and act under your control.</p>
        {mayManage.value && (
          <a class="button primary" href="/worlds">
            Create a world
          </a>
        )}
      </Empty>
    </>
  );
}

/** A world without a chat that is open. */
export function WorldStart({ world: id }: { world: string }) {
  const world = worldById.value.get(id);
  useEffect(() => wantChats(id), [id]);
  if (worlds.value === null) return <Loading />;
  if (!world) return <NoWorld title="World" />;
  return (
    <>
      <TopBar title={world.name} world={world.id} />
      <Empty icon="people" title={world.name}>
        {world.description && <p class="soft">{world.description}</p>}
        <ul class="chips">
          {world.agents.map((agent) => (
            <li key={agent.id} class="chip">
              <Avatar name={agent.id} size="small" /> {agent.name}
            </li>
          ))}
        </ul>
        {mayPost.value && (
          <button type="button" class="button primary" onClick={() => newChat(id)}>
            <Icon name="plus" /> New chat
          </button>
        )}
        <ul class="recent">
          {chats.value[id]?.slice(0, 8).map((chat) => (
            <li key={chat.id}>
              <a class="link" href={href({ view: "chat", world: id, chat: chat.id })}>
                <span class="cut grow">{chat.title}</span>
                <span class="soft small-text">{age(chat.updated_at, now.value)}</span>
              </a>
            </li>
          ))}
        </ul>
      </Empty>
    </>
  );
}
