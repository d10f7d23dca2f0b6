// The ways to decide: the buttons of a card, and what is asked after some of them.

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { print } from "../api/json";
import type { Approval, Decision } from "../api/types";
import { worldById } from "../state/worlds";
import { grow } from "../chat/grow";
import { revealLine } from "../words";
import type { Step } from "./answers";
import { hasDraft, useDraft } from "./drafts";
import { FormFields } from "./form";
import { wasKey } from "./hand";
import { isWhole, offers, readArguments, type Reach } from "./rules";
import { isText } from "./watch";

interface ChoiceProps {
  approval: Approval;
  isArmed: boolean;
  isSent: boolean;
  /** A letter decided it, unless another one follows. */
  isHeld: boolean;
  go: (step: Step) => void;
  send: (decision: Decision) => void;
}

export function Choices({ approval, isArmed, isSent, isHeld, go, send }: ChoiceProps) {
  const off = isSent || !isArmed;
  const canOnce = offers(approval, "once");
  const canAlways = offers(approval, "always");
  const button = (label: string, key: string, act: () => void, kind = "") => (
    <button
      type="button"
      class={`button ${kind}`}
      aria-disabled={off}
      aria-keyshortcuts={key}
      onClick={isSent ? undefined : act}
    >
      {label} <kbd aria-hidden="true">{key}</kbd>
    </button>
  );
  return (
    <>
      <div class="choices">
        {approval.form && canOnce && button("Answer", "E", () => go({ kind: "form" }), "primary")}
        {!approval.form &&
          canOnce &&
          button("Approve once", "O", () => send({ decision: "approve", scope: "once" }), "primary")}
        {button(approval.form ? "Decline…" : "Deny…", "D", () => go({ kind: "reason" }))}
        {offers(approval, "session") && button("This chat…", "S", () => go({ kind: "calls", reach: "session" }))}
        {canAlways && button("Always…", "A", () => go({ kind: "calls", reach: "always" }))}
        {!approval.form && canOnce && button("Edit…", "E", () => go({ kind: "arguments" }))}
        {(isSent || isHeld) && <span class="spinner small" role="status" aria-label="Sending the decision" />}
      </div>
      {hasDraft(approval.id, "arguments") && (
        <p class="warn-text small-text">
          The arguments you began to edit are kept under “Edit”. “Approve once” runs what stands above.
        </p>
      )}
      {!approval.form && !isWhole(approval) && (
        <p class="warn-text small-text">Not shown in full: “always” is not offered.</p>
      )}
    </>
  );
}

interface StepProps {
  approval: Approval;
  step: Step;
  isSent: boolean;
  isArmed: boolean;
  /** Whether a click counts in this moment. */
  takesClick: () => boolean;
  back: () => void;
  send: (decision: Decision) => void;
}

export function Steps({ step, ...rest }: StepProps) {
  switch (step.kind) {
    case "calls":
      return <Calls {...rest} reach={step.reach} />;
    case "reason":
      return <Reason {...rest} />;
    case "arguments":
      return <Arguments {...rest} />;
    case "form":
      return <FormFields {...rest} />;
    default:
      return null;
  }
}

type Rest = Omit<StepProps, "step">;

/** For which calls a permission is to last: chosen like anything else, never the widest by itself. */
function Calls({ approval, reach, isSent, isArmed, takesClick, back, send }: Rest & { reach: Exclude<Reach, "once"> }) {
  const [chosen, setChosen] = useState<number | null>(null);
  const place = useRef<HTMLFieldSetElement>(null);
  const name = useId();
  useLayoutEffect(() => place.current?.querySelector("input")?.focus(), []);
  const world = worldById.value.get(approval.world_id)?.name ?? approval.world_id;
  const where = reach === "session" ? "for the rest of this chat" : `always, in ${world}`;
  const submit = (place: number | null) => {
    if (place !== null && !isSent) send({ decision: "approve", scope: reach, match: place });
  };
  const key = (event: KeyboardEvent) => {
    const number = Number(event.key);
    if (event.repeat || !Number.isInteger(number) || number < 1 || number > approval.suggested_matches.length) return;
    // A number in the middle of a text chooses nothing.
    if (isText()) return;
    event.preventDefault();
    event.stopPropagation();
    setChosen(number - 1);
    place.current?.querySelectorAll("input")[number - 1]?.focus();
  };
  return (
    <form
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        if (takesClick()) submit(chosen);
      }}
      onKeyDown={key}
    >
      <fieldset ref={place}>
        <legend>
          Approve {where}, for which calls of {approval.agent_id}?
        </legend>
        {approval.suggested_matches.map((suggestion, at) => (
          <label key={at} class="choice">
            <input type="radio" name={name} checked={chosen === at} onChange={() => setChosen(at)} />
            <Label text={suggestion.label} /> <kbd aria-hidden="true">{at + 1}</kbd>
          </label>
        ))}
      </fieldset>
      <div class="row end">
        <button type="button" class="button" onClick={back}>
          Back <kbd aria-hidden="true">Esc</kbd>
        </button>
        <button type="submit" class="button primary" aria-disabled={!isArmed} disabled={chosen === null || isSent}>
          {reach === "session" ? "Approve for this chat" : "Approve always"}
        </button>
      </div>
    </form>
  );
}

/** What stands between backticks is code. */
function Label({ text }: { text: string }) {
  return (
    <span class="grow">
      {text.split("`").map((part, at) => (at % 2 ? <code key={at}>{revealLine(part)}</code> : revealLine(part)))}
    </span>
  );
}

function Reason({ approval, isSent, isArmed, takesClick, back, send }: Rest) {
  const [text, setText] = useDraft(approval.id, "reason", "");
  const place = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => place.current?.focus(), []);
  const reason = text.trim();
  return (
    <form
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        // Whoever wrote a reason and pressed Enter has read where.
        const isMeant = (reason !== "" && wasKey()) || takesClick();
        if (isMeant && !isSent) send({ decision: "deny", ...(reason ? { reason } : {}) });
      }}
    >
      <label class="field">
        <span>Why? {approval.agent_id} is told. May stay empty.</span>
        <input ref={place} value={text} maxLength={10_000} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="row end">
        <button type="button" class="button" onClick={back}>
          Back <kbd aria-hidden="true">Esc</kbd>
        </button>
        <button type="submit" class="button danger" aria-disabled={!isArmed} disabled={isSent}>
          {approval.form ? "Decline" : "Deny"}
        </button>
      </div>
    </form>
  );
}

function Arguments({ approval, isSent, isArmed, takesClick, back, send }: Rest) {
  const beginning = print(approval.arguments, 2);
  const [text, setText] = useDraft(approval.id, "arguments", beginning);
  const [problem, setProblem] = useState<string | null>(null);
  const place = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    place.current?.focus();
    if (place.current) grow(place.current);
  }, []);
  const isOff = isSent || text === beginning;
  const submit = () => {
    if (isOff) return;
    const read = readArguments(approval, text);
    if ("problem" in read) return setProblem(read.problem);
    setProblem(null);
    send({ decision: "approve", scope: "once", arguments: read.value });
  };
  return (
    <form
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        if (takesClick()) submit();
      }}
    >
      <label class="field">
        <span>Other arguments, as JSON. They run once; {approval.agent_id} is told.</span>
        <textarea
          ref={place}
          class="code"
          rows={4}
          spellcheck={false}
          value={text}
          aria-invalid={problem !== null}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setProblem(null);
            grow(event.currentTarget);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              submit();
            }
          }}
        />
      </label>
      {problem && (
        <p class="bad-text" role="alert">
          {problem}
        </p>
      )}
      <div class="row end">
        <button type="button" class="button" onClick={back}>
          Back <kbd aria-hidden="true">Esc</kbd>
        </button>
        <button type="submit" class="button primary" aria-disabled={!isArmed} disabled={isOff}>
          Approve these once
        </button>
      </div>
    </form>
  );
}
