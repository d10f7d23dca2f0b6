// All cards, oldest first. Those that are settled stay for a moment, so that one sees by whom and how.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { clearSettled, inbox, type Waiting } from "../state/inbox";
import { mayDecide } from "../state/session";
import { Card } from "./card";
import { hasDraft } from "./drafts";
import { checkMoves } from "./moves";

/** Those with a text that was not sent stay until somebody discards it. */
const isKept = (one: Waiting) => hasDraft(one.approval.id);

/** How long settled ones stay while nobody is looking at them. */
const STAY = 20_000;

/** Why there are no buttons, where there are none. */
export function NoDeciding() {
  return mayDecide.value ? null : <p class="notice-line">Your role lets you see requests, not decide them.</p>;
}

export function InboxList() {
  const place = useRef<HTMLUListElement>(null);
  const all = inbox.value;
  useLayoutEffect(checkMoves);
  useEffect(() => {
    const timer = setInterval(() => {
      const element = place.current;
      const isLookedAt = element?.matches(":hover") || element?.contains(document.activeElement);
      const isOld = (one: Waiting) => one.settledAt !== null && Date.now() - one.settledAt > STAY && !isKept(one);
      if (!isLookedAt && inbox.peek().some(isOld)) clearSettled(isKept);
    }, 2_000);
    return () => clearInterval(timer);
  }, []);

  const settled = all.filter((one) => one.approval.state !== "pending" && !isKept(one)).length;
  return (
    <>
      <ul class="cards" ref={place}>
        {all.map((one) => (
          <Card key={one.approval.id} waiting={one} />
        ))}
      </ul>
      {settled > 0 && (
        <button type="button" class="text-button clear" onClick={() => clearSettled(isKept)}>
          Clear {settled === 1 ? "the decided one" : `${settled} decided ones`}
        </button>
      )}
    </>
  );
}
