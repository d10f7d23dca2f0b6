// A message: who says it to whom, what it says, and what can be done with it.

import { useState } from "preact/hooks";
import { chats as chatCalls, messages as calls } from "../api/calls";
import type { Agent } from "../api/types";
import { addressed } from "../mentions";
import { go, href } from "../router";
import type { Said } from "../state/conversation";
import { edited } from "../state/kept";
import type { OpenChat } from "../state/open";
import { mayPost, me, myName } from "../state/session";
import { attempt, tell } from "../state/toasts";
import { putChat } from "../state/worlds";
import { copyText } from "../ui/copy";
import { confirm } from "../ui/dialog";
import { Html, Plain } from "../ui/html";
import { Icon } from "../ui/icons";
import { Menu, type Item } from "../ui/menu";
import { Avatar, Time } from "../ui/parts";
import { clock } from "../words";
import { Edit } from "./edit";
import { Images } from "./images";

interface Props {
  said: Said;
  chat: OpenChat;
  agents: readonly Agent[];
  main: string | null;
  /** The same one spoke before: the name need not be said again. */
  follows: boolean;
}

export function MessageView({ said, chat, agents, main, follows }: Props) {
  const [isEditing, setEditing] = useState(() => mayPost.peek() && edited.read(myName(), said.id) !== null);
  const isHuman = said.role === "user";
  const name = isHuman ? humanName(said) : (agents.find((agent) => agent.id === said.sender)?.name ?? said.sender);
  return (
    <article
      class={`entry message ${isHuman ? "mine" : ""} ${follows ? "follows" : ""}`}
      id={said.id}
      tabIndex={-1}
      aria-label={`${name}, ${clock(said.at)}`}
    >
      {!isHuman && <Avatar name={said.sender} />}
      <div class="message-main">
        <header class="message-head">
          {isHuman && <When said={said} chat={chat} />}
          <strong>{name}</strong>
          <Addressed said={said} agents={agents} main={main} />
          {!isHuman && <When said={said} chat={chat} />}
        </header>
        {said.reasoning && <Reasoning said={said} />}
        {isEditing ? (
          <Edit said={said} chat={chat} done={() => setEditing(false)} />
        ) : (
          <div class="message-body">
            <Body said={said} />
            <Images parts={said.parts} />
          </div>
        )}
        {said.state === "broken" && <p class="bad-text small-text">Broken off: {said.error}</p>}
      </div>
      {!isEditing && said.state !== "streaming" && <Actions said={said} chat={chat} edit={() => setEditing(true)} />}
    </article>
  );
}

function When({ said, chat }: { said: Said; chat: OpenChat }) {
  return (
    <a
      class="when"
      href={href({ view: "chat", world: chat.world, chat: chat.chat, message: said.id })}
      aria-label={`Link to the message of ${clock(said.at)}`}
    >
      <Time at={said.at}>{clock(said.at)}</Time>
    </a>
  );
}

function humanName(said: Said): string {
  if (said.sender === "world") return "World";
  if (said.user && said.user !== me.value?.name) return said.user;
  return said.user || me.value?.signedIn === false ? "You" : said.sender;
}

function Body({ said }: { said: Said }) {
  if (said.html && said.html.length > 0) return <Html blocks={said.html} />;
  if (said.text) return <Plain text={said.text} />;
  if (said.state === "streaming" && !said.reasoning)
    return (
      <span class="typing" role="img" aria-label="Writing">
        <i />
        <i />
        <i />
      </span>
    );
  return null;
}

/** Whom it is for. */
function Addressed({ said, agents, main }: { said: Said; agents: readonly Agent[]; main: string | null }) {
  const to = addressed(said.text, agents).filter((id) => id !== said.sender);
  const name = (id: string) => agents.find((agent) => agent.id === id)?.name ?? id;
  if (to.length > 0) return <span class="to">to {to.map(name).join(", ")}</span>;
  if (said.role !== "user" || agents.length < 2) return null;
  return <span class="to">{main ? `to ${name(main)}` : "to everyone"}</span>;
}

function Reasoning({ said }: { said: Said }) {
  const isThinking = said.state === "streaming" && said.text === "";
  return (
    <details class="reasoning">
      <summary>
        <Icon name="chevron" class="icon turn" />
        {isThinking ? "Thinking…" : "Thoughts"}
      </summary>
      <div class="reasoning-text">{said.reasoning}</div>
    </details>
  );
}

function Actions({ said, chat, edit }: { said: Said; chat: OpenChat; edit: () => void }) {
  const { world, chat: id } = chat;
  const copy = async () => {
    if (await copyText(said.text)) tell("Copied");
  };
  const link = async () => {
    const to = location.origin + href({ view: "chat", world, chat: id, message: said.id });
    if (await copyText(to)) tell("Link copied");
  };
  const fork = () =>
    attempt(async () => {
      const forked = await chatCalls.fork(world, id, said.id);
      putChat(forked);
      go({ view: "chat", world, chat: forked.id });
      tell("A new chat begins with everything up to that message.");
    });
  const remove = async () => {
    const text =
      "The message and everything after it go, for all agents. Work under way stops, and requests that wait are withdrawn.";
    if (await confirm("Delete from here on?", text, "Delete")) await attempt(() => calls.remove(world, id, said.id));
  };
  const canChange = mayPost.value;
  const items: Item[] = [
    { label: "Copy link", icon: "link", act: () => void link() },
    ...(canChange
      ? [
          { label: "Fork from here", icon: "fork" as const, act: () => void fork() },
          { label: "Delete from here on", icon: "trash" as const, act: () => void remove(), isDangerous: true },
        ]
      : []),
  ];
  return (
    <div class="message-actions" role="group" aria-label="What to do with the message">
      <button type="button" class="icon-button" aria-label="Copy" title="Copy" onClick={copy}>
        <Icon name="copy" />
      </button>
      {canChange && said.role === "user" && said.sender !== "world" && (
        <button
          type="button"
          class="icon-button"
          aria-label="Edit and send again"
          title="Edit and send again"
          onClick={edit}
        >
          <Icon name="edit" />
        </button>
      )}
      <Menu label="More" items={items} />
    </div>
  );
}
