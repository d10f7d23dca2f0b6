// What somebody began to write on a card and did not send. Kept for as long as the page is open, however often a card is
// drawn anew; never in the browser's store, since secrets may be in it. Closing the page asks first.

import { effect, signal, untracked } from "@preact/signals";
import { useState } from "preact/hooks";
import { inbox } from "../state/inbox";
import { tell } from "../state/toasts";
import { copyText } from "../ui/copy";

export type DraftKind = "reason" | "arguments" | "answer";

export interface Draft {
  kind: DraftKind;
  text: string;
}

const drafts = new Map<string, Map<DraftKind, string>>();
/** Moves when one comes or goes, for what is drawn of that. */
const changes = signal(0);

const beforeUnload = (event: Event) => event.preventDefault();

/** With nothing for a text there is no draft any more. */
export function keepDraft(approval: string, kind: DraftKind, text: string | null): void {
  const own = drafts.get(approval) ?? new Map<DraftKind, string>();
  const isNews = own.has(kind) !== (text !== null);
  if (text === null) own.delete(kind);
  else own.set(kind, text);
  if (own.size > 0) drafts.set(approval, own);
  else drafts.delete(approval);
  if (isNews) settle();
}

export function draftsOf(approval: string): Draft[] {
  void changes.value;
  return [...(drafts.get(approval) ?? [])].map(([kind, text]) => ({ kind, text }));
}

export function hasDraft(approval: string, kind?: DraftKind): boolean {
  return draftsOf(approval).some((draft) => kind === undefined || draft.kind === kind);
}

export function forgetDrafts(approval: string): void {
  if (drafts.delete(approval)) settle();
}

function settle(): void {
  changes.value = changes.peek() + 1;
  if (typeof document === "undefined") return;
  if (drafts.size > 0) addEventListener("beforeunload", beforeUnload);
  else removeEventListener("beforeunload", beforeUnload);
}

/** A text that is still there when its field is opened again. As it was at the beginning it is no draft. */
export function useDraft(approval: string, kind: DraftKind, beginning: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => drafts.get(approval)?.get(kind) ?? beginning);
  const write = (next: string) => {
    setText(next);
    keepDraft(approval, kind, next === beginning ? null : next);
  };
  return [text, write];
}

/** A request can go with its chat, and what was written on it has no place any more: then it is told. */
export function startDrafts(): void {
  effect(() => {
    const there = new Set(inbox.value.map((one) => one.approval.id));
    untracked(() => [...drafts.keys()].filter((one) => !there.has(one)).forEach(tellGone));
  });
}

function tellGone(approval: string): void {
  const text = draftsOf(approval)
    .map((draft) => draft.text)
    .join("\n");
  forgetDrafts(approval);
  const copy = { label: "Copy", act: () => void copyText(text) };
  tell(`The request is gone with its chat. You were writing: “${text}”`, "bad", copy);
}
