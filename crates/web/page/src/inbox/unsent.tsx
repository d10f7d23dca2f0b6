// What somebody was writing on a card when somebody else decided it: it stays there to be read and copied, and takes the
// letters that are still on their way.

import { useLayoutEffect, useRef } from "preact/hooks";
import { grow } from "../chat/grow";
import { CopyButton } from "../ui/copy";
import { draftsOf, forgetDrafts, keepDraft, type Draft, type DraftKind } from "./drafts";

const NAMES: Record<DraftKind, string> = {
  reason: "the reason you were writing",
  arguments: "the arguments you were editing",
  answer: "the answer you were writing",
};

export function Unsent({ approval }: { approval: string }) {
  const drafts = draftsOf(approval);
  if (drafts.length === 0) return null;
  const discard = (button: HTMLElement) => {
    // The button goes with it; whoever pressed it stays on the card.
    button.closest("li")?.focus({ preventScroll: true });
    forgetDrafts(approval);
  };
  return (
    <div class="unsent">
      {drafts.map((draft) => (
        <Text key={draft.kind} approval={approval} draft={draft} />
      ))}
      <div class="row end">
        <button type="button" class="button small" onClick={(event) => discard(event.currentTarget)}>
          Discard
        </button>
      </div>
    </div>
  );
}

function Text({ approval, draft }: { approval: string; draft: Draft }) {
  const place = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const field = place.current;
    if (!field) return;
    grow(field);
    field.setSelectionRange(field.value.length, field.value.length);
  }, []);
  return (
    <div class="output-frame">
      <label class="field">
        <span>Not sent: {NAMES[draft.kind]}</span>
        <textarea
          ref={place}
          rows={1}
          defaultValue={draft.text}
          onInput={(event) => {
            keepDraft(approval, draft.kind, event.currentTarget.value);
            grow(event.currentTarget);
          }}
        />
      </label>
      <CopyButton label="Copy what was not sent" text={() => place.current?.value ?? draft.text} />
    </div>
  );
}
