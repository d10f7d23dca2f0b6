// One request that waits: what must be seen before deciding, and the ways to decide. Keys act on the card that has the focus
// only; neither keys nor clicks count before somebody can have read it.

import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Decision } from "../api/types";
import { isTyping } from "../shell/keys";
import { decide, type Waiting } from "../state/inbox";
import { mayDecide } from "../state/session";
import { Settled } from "./settled";
import { CardBody } from "./body";
import { Guard } from "./guard";
import { wasKey } from "./hand";
import { checkMoves, watchMoves } from "./moves";
import { offers } from "./rules";
import { Choices, Steps, type Step } from "./steps";

const MEANS = new Set(["o", "y", "s", "a", "e", "d", "n", "l", "j", "k"]);

export function Card({ waiting }: { waiting: Waiting }) {
  const { approval } = waiting;
  const place = useRef<HTMLLIElement>(null);
  const guard = useRef(new Guard(performance.now()));
  const [step, setStep] = useState<Step>({ kind: "choice" });
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const isPending = approval.state === "pending";
  const isArmed = guard.current.isArmed(performance.now());

  // Draws again when the time comes at which it takes answers.
  useEffect(() => {
    if (isArmed) return;
    const timer = setTimeout(() => redraw(0), guard.current.armedAt() - performance.now() + 5);
    return () => clearTimeout(timer);
  });
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const disarm = () => {
      guard.current.shownAgain(performance.now());
      redraw(0);
    };
    const stop = watchMoves(element, disarm);
    // A click that brings the window to the front was meant to do just that.
    addEventListener("focus", disarm);
    return () => {
      stop();
      removeEventListener("focus", disarm);
    };
  }, []);
  useLayoutEffect(checkMoves);
  // What is asked next is seen whole, with the buttons at its foot.
  useLayoutEffect(() => place.current?.querySelector(".step")?.scrollIntoView({ block: "nearest" }), [step.kind]);

  const go = (next: Step) => {
    setStep(next);
    // What stands under the pointer now is something else.
    guard.current.shownAgain(performance.now());
    if (next.kind === "choice") place.current?.focus({ preventScroll: true });
  };
  const send = async (decision: Decision) => {
    const next = neighbour(place.current, 1) ?? neighbour(place.current, -1);
    const isFocused = place.current?.contains(document.activeElement) ?? false;
    const byKey = wasKey();
    if (!(await decide(approval, decision)) || !isFocused) return;
    // Whoever decides by keys goes on with the next one. Whoever clicked may type something else next: no card is to take that.
    ((byKey ? next : null) ?? place.current)?.focus({ preventScroll: !byKey });
  };
  const click = (act: () => void) => () => {
    if (guard.current.isArmed(performance.now())) act();
    else redraw(0);
  };
  const key = (event: KeyboardEvent) => {
    if (!isPending || event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === "Escape" && step.kind !== "choice") {
      event.preventDefault();
      return go({ kind: "choice" });
    }
    if (isTyping(event.target) || event.key.length !== 1) return arrows(event);
    const letter = event.key.toLowerCase();
    if (letter === "j" || letter === "k" || letter === "l") {
      event.preventDefault();
      return neighbour(place.current, letter === "k" ? -1 : 1)?.focus();
    }
    if (step.kind !== "choice" || letter === " ") return;
    const taken = guard.current.takes({ isRepeat: event.repeat, means: MEANS.has(letter) }, performance.now());
    if (!taken) return redraw(0);
    event.preventDefault();
    answer(letter);
  };
  const answer = (letter: string) => {
    if (!mayDecide.value || waiting.ours === "sent") return;
    const isForm = !!approval.form;
    if ((letter === "o" || letter === "y") && offers(approval, "once")) {
      if (isForm) go({ kind: "form" });
      else void send({ decision: "approve", scope: "once" });
    } else if (letter === "s" && offers(approval, "session")) go({ kind: "calls", reach: "session" });
    else if (letter === "a" && offers(approval, "always")) go({ kind: "calls", reach: "always" });
    else if (letter === "e" && offers(approval, "once")) go({ kind: isForm ? "form" : "arguments" });
    else if (letter === "d" || letter === "n") go({ kind: "reason" });
  };
  const arrows = (event: KeyboardEvent) => {
    if (isTyping(event.target) || event.target !== place.current) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    neighbour(place.current, step)?.focus();
  };

  const label = `${approval.agent_id} asks: ${approval.message}`;
  if (!isPending) {
    return (
      <li
        ref={place}
        id={`card-${approval.id}`}
        class="card settled"
        data-state={approval.state}
        tabIndex={-1}
        aria-label={label}
      >
        <Settled waiting={waiting} />
      </li>
    );
  }
  return (
    <li
      ref={place}
      id={`card-${approval.id}`}
      class={`card ${isArmed ? "armed" : "arming"}`}
      data-state="pending"
      tabIndex={0}
      aria-label={label}
      onKeyDown={key}
    >
      <CardBody approval={approval} />
      {waiting.problem && (
        <p class="bad-text" role="alert">
          {waiting.problem}
        </p>
      )}
      {mayDecide.value &&
        (step.kind === "choice" ? (
          <Choices
            approval={approval}
            isArmed={isArmed}
            isSent={waiting.ours === "sent"}
            go={(next) => click(() => go(next))()}
            send={(decision) => click(() => void send(decision))()}
          />
        ) : (
          <Steps
            approval={approval}
            step={step}
            isSent={waiting.ours === "sent"}
            isArmed={isArmed}
            back={() => go({ kind: "choice" })}
            send={(decision) => void send(decision)}
          />
        ))}
      <span class="arming-bar" aria-hidden="true" />
    </li>
  );
}

function neighbour(card: HTMLElement | null, step: 1 | -1): HTMLElement | null {
  const all = [...document.querySelectorAll<HTMLElement>(".card[data-state=pending]")];
  const at = card ? all.indexOf(card) : -1;
  return all[at + step] ?? null;
}
