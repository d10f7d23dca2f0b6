// The messages of a chat that the server has not taken yet, and what can be done with them.

import { useEffect, useState } from "preact/hooks";
import { outbox, sendNow, type Pending, type Posting } from "../state/outbox";
import { plural, reveal } from "../words";

/** What is taken at once need not be shown as on its way. */
const SLOW = 700;

export function Outbox({ chat, takeBack }: { chat: string; takeBack: (posting: Posting) => void }) {
  const all = outbox.value.filter((one) => one.posting.chat === chat && one.state !== "refused");
  if (all.length === 0) return null;
  return (
    <ul class="outbox" aria-label="Not sent yet">
      {all.map((one) => (
        <Item key={one.posting.key} pending={one} takeBack={takeBack} />
      ))}
    </ul>
  );
}

function Item({ pending, takeBack }: { pending: Pending; takeBack: (posting: Posting) => void }) {
  const { posting, state, problem } = pending;
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), Math.max(0, posting.at + SLOW - Date.now()));
    return () => clearTimeout(timer);
  }, []);
  if (!isSlow && problem === null && state !== "held") return null;
  const isStuck = state === "held" || problem !== null;
  return (
    <li class="outbox-item">
      <div class="grow">
        <p class="clamp">{reveal(posting.text)}</p>
        {posting.pictures.length > 0 && <p class="soft small-text">{plural(posting.pictures.length, "image")}</p>}
        <p class="soft small-text" role="status">
          {words(pending)}
        </p>
      </div>
      {isStuck && state !== "sending" && (
        <>
          <button type="button" class="button small" onClick={() => sendNow(posting.chat)}>
            {state === "held" ? "Send it" : "Try now"}
          </button>
          <button
            type="button"
            class="button small"
            title={problem === null ? undefined : "It may have arrived all the same: look before you send it again"}
            onClick={() => takeBack(posting)}
          >
            Take back
          </button>
        </>
      )}
    </li>
  );
}

function words({ state, problem }: Pending): string {
  if (state === "held") return "Not sent before the page was left.";
  if (problem === null) return "Sending…";
  const why = problem.replace(/\.?$/, ".");
  return state === "sending" ? `${why} Sending again…` : `Not sent yet. ${why} It is tried again by itself.`;
}
