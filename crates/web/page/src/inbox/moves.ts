// Notices when cards, or the buttons on them, move on the screen by themselves, so that a click meant for one does not
// decide another. Looks often, and once more before a click counts: whatever moved them, somebody sees it only afterwards.

/** Where a card is on the screen, and its buttons; and how far what it lies in is scrolled. */
export interface Place {
  left: number;
  top: number;
  buttons: number;
  scrolled: number;
  /** How high that is, and how much of it is seen. */
  height: number;
  seen: number;
}

const OFTEN = 100;
const SLACK = 2;

/** Scrolling is done on purpose, unless there is suddenly more or less to scroll. */
export function hasMoved(from: Place, to: Place): boolean {
  const isAsHigh = from.height === to.height && from.seen === to.seen;
  const scrolled = isAsHigh ? to.scrolled - from.scrolled : 0;
  const by = [to.left - from.left, to.top - from.top + scrolled, to.buttons - from.buttons + scrolled];
  return by.some((distance) => Math.abs(distance) > SLACK);
}

function placeOf(card: HTMLElement): Place {
  const scroller = card.closest<HTMLElement>(".panel-scroll, .view-scroll");
  const { left, top, bottom } = card.getBoundingClientRect();
  const buttons = card.querySelector(".choices, .step > .row")?.getBoundingClientRect();
  return {
    left,
    top,
    buttons: buttons?.top ?? bottom,
    scrolled: scroller?.scrollTop ?? 0,
    height: scroller?.scrollHeight ?? 0,
    seen: scroller?.clientHeight ?? 0,
  };
}

const watched = new Map<HTMLElement, { place: Place; moved: () => void }>();
const sizes = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(checkMoves);
let timer: ReturnType<typeof setInterval> | undefined;

export function watchMoves(card: HTMLElement, moved: () => void): () => void {
  watched.set(card, { place: placeOf(card), moved });
  sizes?.observe(card);
  timer ??= setInterval(checkMoves, OFTEN);
  return () => {
    watched.delete(card);
    sizes?.unobserve(card);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export function checkMoves(): void {
  if (document.hidden) return;
  for (const [card, known] of watched) {
    const place = placeOf(card);
    const isMoved = hasMoved(known.place, place);
    known.place = place;
    if (isMoved) known.moved();
  }
}
