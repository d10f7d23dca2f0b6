// One chat: its messages, what goes on in it, and where to write.

import { useEffect } from "preact/hooks";
import { chats as calls } from "../api/calls";
import { showInbox } from "../inbox/panel";
import { href } from "../router";
import { waitingIn } from "../state/inbox";
import { open, openChat } from "../state/open";
import { mayDecide, mayPost } from "../state/session";
import { attempt } from "../state/toasts";
import { findChat, nameOfWorld, wantChats, worldById } from "../state/worlds";
import { chatItems } from "../shell/sidebar";
import { TopBar } from "../shell/top-bar";
import { Icon } from "../ui/icons";
import { Menu } from "../ui/menu";
import { Empty, Failure, Loading } from "../ui/parts";
import { plural } from "../words";
import { Composer } from "./composer";
import { MessageList } from "./list";
import { Welcome } from "./welcome";

export function ChatView({ world, chat, message }: { world: string; chat: string; message: string | undefined }) {
  useEffect(() => {
    wantChats(world);
    return openChat(world, chat);
  }, [world, chat]);
  const now = open.value;
  const known = findChat(world, chat);
  const settings = worldById.value.get(world);
  if (!now || now.chat !== chat) return <Loading />;
  if (now.state.value === "missing") {
    return (
      <>
        <TopBar title="Chat" />
        <Empty icon="search" title="There is no such chat">
          <p class="soft">It may have been deleted, or the address is mistyped.</p>
          {settings ? (
            <a class="button" href={href({ view: "world", world })}>
              To {settings.name}
            </a>
          ) : (
            <a class="button" href="/worlds">
              All worlds
            </a>
          )}
        </Empty>
      </>
    );
  }
  const agents = settings?.agents ?? [];
  const items =
    known && mayPost.value
      ? [
          {
            label: "Take a failed turn up again",
            icon: "retry" as const,
            act: () => void attempt(() => calls.retry(world, chat)),
          },
          ...chatItems(known),
        ]
      : [];
  const isEmpty = now.state.value === "ready" && now.runs.value.length === 0;
  return (
    <div class="chat">
      <TopBar
        title={known?.title ?? "…"}
        sub={<Place world={nameOfWorld(world)} names={agents.map((agent) => agent.name)} />}
        world={world}
      >
        <Menu label="Menu of this chat" items={items} />
      </TopBar>
      {now.state.value === "loading" && <Loading label="Opening the chat" />}
      {now.state.value === "failed" && (
        <Failure text={now.problem.value ?? "It could not be loaded."} again={() => void now.load()} />
      )}
      {isEmpty && <Welcome world={settings} chat={chat} />}
      {now.state.value === "ready" && !isEmpty && (
        <MessageList key={chat} chat={now} agents={agents} main={settings?.main_agent ?? null} wanted={message} />
      )}
      <div class="chat-foot">
        <Activity world={world} chat={chat} />
        <Composer key={chat} world={world} chat={chat} agents={agents} main={settings?.main_agent ?? null} />
      </div>
    </div>
  );
}

function Place({ world, names }: { world: string; names: string[] }) {
  return (
    <span class="cut">
      {world}
      {names.length > 0 && ` · ${names.join(", ")}`}
    </span>
  );
}

const DOING: Record<string, string> = {
  thinking: "is thinking",
  running_tools: "is using tools",
};

/** Who is at work, and how to stop it. */
function Activity({ world, chat }: { world: string; chat: string }) {
  const activity = findChat(world, chat)?.activity;
  const waits = waitingIn(chat);
  const isBusy = activity?.state === "busy";
  if (!isBusy && waits === 0) return <div class="activity" role="status" />;
  const atWork = (activity?.agents ?? []).filter((agent) => !agent.doing.startsWith("awaiting"));
  return (
    <div class="activity" role="status">
      {waits > 0 && (
        <button type="button" class="waiting-pill" onClick={() => showInbox()}>
          <Icon name="shield" /> {plural(waits, "request")} {waits === 1 ? "waits" : "wait"} for{" "}
          {mayDecide.value ? "you" : "an approver"}
        </button>
      )}
      {atWork.length > 0 && (
        <span class="soft at-work">
          <span class="pulse" aria-hidden="true" />
          {atWork.map((agent) => `${agent.id} ${DOING[agent.doing] ?? agent.doing.replaceAll("_", " ")}`).join(", ")}
        </span>
      )}
      {isBusy && mayPost.value && (
        <button type="button" class="button small" onClick={() => attempt(() => calls.stop(world, chat))}>
          <Icon name="stop" /> Stop
        </button>
      )}
    </div>
  );
}
