// One entry of the list: a message, a notice, or a call of a tool. Drawn again only when that entry changed.

import type { Agent } from "../api/types";
import type { OpenChat } from "../state/open";
import { memo } from "../ui/memo";
import { Avatar } from "../ui/parts";
import { day } from "../words";
import { CallCard } from "./call-card";
import { MessageView } from "./message";
import { NoticeView } from "./notice";

interface Props {
  id: string;
  before: string | undefined;
  chat: OpenChat;
  agents: readonly Agent[];
  main: string | null;
}

/** Who calls, where nothing of theirs stands above. */
function Caller({ agent, agents }: { agent: string; agents: readonly Agent[] }) {
  return (
    <p class="caller">
      <Avatar name={agent} /> <strong>{agents.find((one) => one.id === agent)?.name ?? agent}</strong>
    </p>
  );
}

export const EntryView = memo(function EntryView({ id, before, chat, agents, main }: Props) {
  const entry = chat.entry(id)?.value;
  if (!entry) return null;
  const earlier = before ? chat.peek(before) : undefined;
  const isNewDay = earlier === undefined ? false : entry.at.slice(0, 10) !== earlier.at.slice(0, 10) && entry.at !== "";
  const speaker = (one: typeof entry) => (one.kind === "call" ? one.agent : one.sender);
  const follows =
    earlier !== undefined &&
    !isNewDay &&
    speaker(earlier) === speaker(entry) &&
    (earlier.kind !== "said") === (entry.kind !== "said");
  return (
    <>
      {isNewDay && (
        <div class="day">
          <span>{day(entry.at)}</span>
        </div>
      )}
      {entry.kind === "call" ? (
        <>
          {(!earlier || speaker(earlier) !== entry.agent || isNewDay) && <Caller agent={entry.agent} agents={agents} />}
          <CallCard call={entry} chat={chat} />
        </>
      ) : entry.role === "system" ? (
        <NoticeView notice={entry} chat={chat} />
      ) : (
        <MessageView said={entry} chat={chat} agents={agents} main={main} follows={follows} />
      )}
    </>
  );
});
