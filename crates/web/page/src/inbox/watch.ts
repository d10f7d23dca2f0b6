// Tells the guard what happens on the page, and the cards what the guard says of them.

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { Guard, type Meaning, type Verdict } from "./guard";
import { isPointedAt } from "./hand";
import { checkMoves, watchMoves } from "./moves";

export const PENDING = ".card[data-state=pending]";
export const guard = new Guard();

const clock = () => performance.now();
const listeners = new Set<() => void>();

/** Has the cards look again at what the guard says. */
function tell(): void {
  for (const listener of listeners) listener();
}

/** Where letters become text. */
export function takesText(target: EventTarget | null): boolean {
  const field = (target as Element | null)?.closest?.("input, textarea, select, [contenteditable=true]");
  return !!field && !field.matches("[type=radio], [type=checkbox], [type=button], [type=submit]");
}

/** The field that has the focus, and whether somebody is in the middle of a text there. */
let field: { element: Element; isWritten: boolean } | null = null;

function noticeLoss(): void {
  if (!field || field.element.isConnected) return;
  const wasWritten = field.isWritten;
  field = null;
  if (!wasWritten) return;
  guard.lostField(clock());
  tell();
}

function isWriting(event: KeyboardEvent): boolean {
  if (event.key === "Escape" || event.key === "Tab") return false;
  const isPlain = !event.ctrlKey && !event.metaKey;
  return event.key === "Enter" ? isPlain && event.target instanceof HTMLTextAreaElement : isPlain;
}

if (typeof document !== "undefined") {
  document.addEventListener("focusin", (event) => {
    noticeLoss();
    const element = event.target as Element;
    field = takesText(element) ? { element, isWritten: false } : null;
    const card = element.closest(PENDING);
    guard.focused(card?.id ?? null, isPointedAt(card ?? element) ? "pointer" : "other", clock());
    tell();
  });
  addEventListener(
    "keydown",
    (event) => {
      noticeLoss();
      if (field?.element === event.target) field.isWritten = isWriting(event);
      // What is no letter says what it means, which is something else.
      if (event.key.length !== 1 && event.key !== "Shift") takeBack();
    },
    true,
  );
  addEventListener("pointerdown", takeBack, true);
  addEventListener("blur", takeBack);
  // A click that brings the window to the front was meant to do just that.
  addEventListener("focus", () => {
    guard.cameBack(clock());
    tell();
  });
  setInterval(noticeLoss, 500);
}

/** What waits for another letter is not done. */
export function takeBack(): boolean {
  const wasHeld = guard.takeBack();
  if (wasHeld) tell();
  return wasHeld;
}

/** The card is not what it was: it shows another question. */
export function shownAgain(card: string): void {
  guard.shown(card, clock());
  tell();
}

/** Whether a click counts, or a key that presses a button. */
export function takesClick(card: string): boolean {
  checkMoves();
  return guard.isArmed(card, clock());
}

export function isText(): boolean {
  return guard.isText(clock());
}

/** Judges a letter; see `Guard.letter`. */
export function judge(card: string | null, event: KeyboardEvent, meaning: Meaning): Verdict {
  checkMoves();
  const verdict = guard.letter(card, { sign: event.key.toLowerCase(), meaning, isRepeat: event.repeat }, clock());
  tell();
  return verdict;
}

/** Whether what a letter asked for is to be done, after nothing came in between. */
export function release(card: string): boolean {
  checkMoves();
  const isReleased = guard.release(card, clock());
  tell();
  return isReleased;
}

interface Standing {
  isArmed: boolean;
  /** A letter decided it, unless another one follows. */
  isHeld: boolean;
}

/** How a card stands with the guard, for as long as it waits. */
export function useGuard(card: string, place: RefObject<HTMLElement | null>, isPending: boolean): Standing {
  const [standing, setStanding] = useState<Standing>({ isArmed: false, isHeld: false });
  useLayoutEffect(() => {
    const element = place.current;
    if (!element || !isPending) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      const now = clock();
      const next = { isArmed: guard.isArmed(card, now), isHeld: guard.isHeld(card) };
      setStanding((before) => (before.isArmed === next.isArmed && before.isHeld === next.isHeld ? before : next));
      if (!next.isArmed) timer = setTimeout(look, guard.armedAt(card) - now + 5);
    };
    const shown = () => {
      guard.shown(card, clock());
      look();
    };
    listeners.add(look);
    const stop = watchMoves(element, shown);
    shown();
    return () => {
      clearTimeout(timer);
      listeners.delete(look);
      stop();
      guard.gone(card);
    };
  }, [card, isPending]);
  return standing;
}
