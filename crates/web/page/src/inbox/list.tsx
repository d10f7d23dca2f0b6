// All cards, oldest first. Those that are settled stay for a moment, so that one sees by whom and how.

import { useEffect, useRef } from "preact/hooks";
import { clearSettled, inbox } from "../state/inbox";
import { Card } from "./card";
import { checkMoves } from "./moves";

/** How long settled ones stay while nobody is looking at them. */
const STAY = 20_000;

export function InboxList() {
  const place = useRef<HTMLUListElement>(null);
  const all = inbox.value;
  // Whatever changes the height of one card moves those below it.
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new ResizeObserver(() => checkMoves());
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const timer = setInterval(() => {
      const element = place.current;
      const isLookedAt = element?.matches(":hover") || element?.contains(document.activeElement);
      const old = inbox.peek().some((one) => one.settledAt !== null && Date.now() - one.settledAt > STAY);
      if (old && !isLookedAt) clearSettled();
    }, 2_000);
    return () => clearInterval(timer);
  }, []);

  const settled = all.filter((one) => one.approval.state !== "pending").length;
  return (
    <>
      <ul class="cards" ref={place}>
        {all.map((one) => (
          <Card key={one.approval.id} waiting={one} />
        ))}
      </ul>
      {settled > 0 && (
        <button type="button" class="text-button clear" onClick={clearSettled}>
          Clear {settled === 1 ? "the decided one" : `${settled} decided ones`}
        </button>
      )}
    </>
  );
}
