// A dialog in the browser's own element, which keeps the focus inside and gives it back; and questions to be answered by yes or no.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { Icon } from "./icons";

interface Props {
  title: string;
  /** Absent where it stays until what it asks for is done. */
  onClose?: () => void;
  children: ComponentChildren;
  kind?: string;
}

export function Dialog({ title, onClose, children, kind = "" }: Props) {
  const place = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = place.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={place}
      class={`dialog ${kind}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onKeyDown={(event) => {
        // Browsers close it at the second attempt at the latest, whatever the page says to the first.
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        onClose?.();
      }}
      onMouseDown={(event) => event.target === place.current && onClose?.()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          {onClose && (
            <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
              <Icon name="close" />
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface Question {
  title: string;
  text: string;
  yes: string;
  isDangerous: boolean;
  /** A line of text to be changed, where one is asked for. */
  value?: string;
  label?: string;
  answer: (value: string | null) => void;
}

const question = signal<Question | null>(null);

/** Asks before something that cannot be undone. */
export function confirm(title: string, text: string, yes: string): Promise<boolean> {
  return new Promise((done) => {
    question.value = { title, text, yes, isDangerous: true, answer: (value) => done(value !== null) };
  });
}

/** Asks for a line of text. */
export function askFor(title: string, label: string, value: string, yes: string): Promise<string | null> {
  return asksFor({ title, label, value, yes, isDangerous: false });
}

/** Asks for a word, before something that cannot be undone. */
export function confirmBy(title: string, label: string, yes: string): Promise<string | null> {
  return asksFor({ title, label, value: "", yes, isDangerous: true });
}

function asksFor(asked: Omit<Question, "text" | "answer">): Promise<string | null> {
  return new Promise((answer) => {
    question.value = { ...asked, text: "", answer };
  });
}

export function Questions() {
  const asked = question.value;
  return asked ? <Asked key={asked.title} asked={asked} /> : null;
}

function Asked({ asked }: { asked: Question }) {
  const [value, setValue] = useState(asked.value ?? "");
  const close = (answer: string | null) => {
    question.value = null;
    asked.answer(answer);
  };
  const hasText = asked.value !== undefined;
  return (
    <Dialog title={asked.title} onClose={() => close(null)} kind="dialog-small">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!hasText || value.trim()) close(value.trim());
        }}
      >
        {asked.text && <p class="soft">{asked.text}</p>}
        {hasText && (
          <label class="field">
            <span>{asked.label}</span>
            <input value={value} maxLength={200} onInput={(event) => setValue(event.currentTarget.value)} autofocus />
          </label>
        )}
        <div class="row end">
          <button type="button" class="button" onClick={() => close(null)} autofocus={!hasText}>
            Cancel
          </button>
          <button type="submit" class={`button ${asked.isDangerous ? "danger" : "primary"}`}>
            {asked.yes}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
