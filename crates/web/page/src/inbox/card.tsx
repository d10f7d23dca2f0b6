// One request that waits: what must be seen before deciding, and the ways to decide. Keys act on the card that has the focus
// only; whether a key or a click counts is for the guard to say.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Decision } from "../api/types";
import { decide, type Waiting } from "../state/inbox";
import { mayDecide } from "../state/session";
import { answerOf, goes, meaningOf, type Step } from "./answers";
import { CardBody } from "./body";
import { forgetDrafts } from "./drafts";
import { cardId, neighbour } from "./focus";
import { HOLD } from "./guard";
import { wasKey } from "./hand";
import { Settled } from "./settled";
import { Choices, Steps } from "./steps";
import { Unsent } from "./unsent";
import { guard, isText, judge, release, shownAgain, takeBack, takesClick, takesText, useGuard } from "./watch";

export function Card({ waiting }: { waiting: Waiting }) {
  const { approval } = waiting;
  const id = cardId(approval.id);
  const place = useRef<HTMLLIElement>(null);
  const [step, setStep] = useState<Step>({ kind: "choice" });
  const isPending = approval.state === "pending";
  const isSent = waiting.ours === "sent";
  const { isArmed, isHeld } = useGuard(id, place, isPending);

  // What is asked next is seen whole, with the buttons at its foot.
  useLayoutEffect(() => place.current?.querySelector(".step")?.scrollIntoView({ block: "nearest" }), [step.kind]);
  // Whoever was on a card that somebody else decided stays there, and so does what they were writing.
  useLayoutEffect(() => {
    if (isPending || !guard.hasFocus(id) || !hasNoFocus()) return;
    (place.current?.querySelector<HTMLElement>(".unsent textarea") ?? place.current)?.focus({ preventScroll: true });
  }, [isPending]);

  const go = (next: Step) => {
    setStep(next);
    // What stands under the pointer now is something else.
    shownAgain(id);
    if (next.kind === "choice") place.current?.focus({ preventScroll: true });
  };
  const send = async (decision: Decision) => {
    const byKey = wasKey();
    if (!(await decide(approval, decision))) return;
    forgetDrafts(approval.id);
    // Whoever went elsewhere meanwhile stays there.
    if (!hasNoFocus() && !place.current?.contains(document.activeElement)) return;
    // Whoever decides by keys goes on with the next one, and never back to one they went past. Whoever clicked may type
    // something else next: no card is to take that.
    const next = byKey ? neighbour(place.current, 1) : null;
    (next ?? place.current)?.focus({ preventScroll: !byKey });
  };
  const move = (event: KeyboardEvent, by: 1 | -1) => {
    event.preventDefault();
    neighbour(place.current, by)?.focus();
  };
  const letter = (event: KeyboardEvent) => {
    const sign = event.key.toLowerCase();
    const canAnswer = mayDecide.value && !isSent;
    const answer = step.kind !== "choice" ? null : canAnswer ? answerOf(sign, approval) : goes(sign);
    const verdict = judge(id, event, meaningOf(answer));
    if (verdict === "ignored" || !answer) return;
    event.preventDefault();
    if ("by" in answer) move(event, answer.by);
    else if ("step" in answer) go(answer.step);
    else setTimeout(() => release(id) && void send(answer.decision), HOLD);
  };
  const key = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && step.kind !== "choice" && isPending) {
      event.preventDefault();
      return go({ kind: "choice" });
    }
    if (takesText(event.target)) return;
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : null;
    if (by && event.target === place.current) return move(event, by);
    if (event.key === " ") return space(id, event);
    if (event.key.length === 1 && isPending) letter(event);
    // What is decided takes no answers; it is only left.
    const away = isPending ? null : goes(event.key.toLowerCase());
    if (away && judge(null, event, "goes") === "taken") move(event, away.by);
  };

  const label = `${approval.agent_id} asks: ${approval.message}`;
  const looks = isPending ? `card ${isArmed ? "armed" : "arming"}` : "card settled";
  return (
    <li
      ref={place}
      id={id}
      class={looks}
      data-state={approval.state}
      tabIndex={isPending ? 0 : -1}
      aria-label={label}
      onKeyDown={key}
    >
      {!isPending && <Settled waiting={waiting} />}
      {!isPending && waiting.ours === "no" && <Unsent approval={approval.id} />}
      {isPending && <CardBody approval={approval} />}
      {isPending && waiting.problem && (
        <p class="bad-text" role="alert">
          {waiting.problem}
        </p>
      )}
      {isPending &&
        mayDecide.value &&
        (step.kind === "choice" ? (
          <Choices
            approval={approval}
            isArmed={isArmed}
            isSent={isSent}
            isHeld={isHeld}
            go={(next) => takesClick(id) && go(next)}
            send={(decision) => takesClick(id) && void send(decision)}
          />
        ) : (
          <Steps
            approval={approval}
            step={step}
            isSent={isSent}
            isArmed={isArmed}
            takesClick={() => takesClick(id)}
            back={() => go({ kind: "choice" })}
            send={(decision) => void send(decision)}
          />
        ))}
      {isPending && <span class="arming-bar" aria-hidden="true" />}
    </li>
  );
}

/** A space in a text is part of it; elsewhere it presses what has the focus. */
function space(card: string, event: KeyboardEvent): void {
  if (takeBack() || isText()) judge(card, event, "nothing");
}

/** Nothing has the focus: what had it is not there any more. */
function hasNoFocus(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}
