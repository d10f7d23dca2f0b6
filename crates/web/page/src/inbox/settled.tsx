// What a card becomes once it is decided: a line that says how, by whom, and what else that led to.

import { href } from "../router";
import { inbox, releasedBy, type Waiting } from "../state/inbox";
import { me } from "../state/session";
import { Icon } from "../ui/icons";
import { Time } from "../ui/parts";
import { callLine, clock, outcome, plural, reveal } from "../words";

export function Settled({ waiting }: { waiting: Waiting }) {
  const { approval } = waiting;
  const isGood = approval.state === "approved";
  const released = releasedBy(approval, inbox.value);
  return (
    <div class={`settled-body ${isGood ? "good" : "bad"}`} role="status">
      <Icon name={isGood ? "check" : "close"} />
      <div class="grow">
        <p>
          <strong>{outcome(approval, me.value?.name ?? null)}</strong>{" "}
          {approval.decided_at && (
            <Time at={approval.decided_at}>
              <span class="soft">{clock(approval.decided_at)}</span>
            </Time>
          )}
        </p>
        <p class="cut">
          <a href={href({ view: "chat", world: approval.world_id, chat: approval.chat_id })}>{approval.agent_id}</a>{" "}
          <code>{callLine(approval.edited_arguments ?? approval.arguments) || approval.tool}</code>
        </p>
        {approval.reason && <p class="soft">“{reveal(approval.reason)}”</p>}
        {waiting.chosen && (approval.scope === "session" || approval.scope === "always") && (
          <p class="soft">
            Holds for {waiting.chosen.replaceAll("`", "")}, by {approval.agent_id},{" "}
            {approval.scope === "session" ? "in this chat" : "in this world"}.
          </p>
        )}
        {released > 0 && <p>It also let {plural(released, "other waiting request")} through.</p>}
      </div>
    </div>
  );
}
