// Notices when cards move on the screen by themselves, so that a click meant for one does not decide another.

const watched = new Map<HTMLElement, { top: number; moved: () => void }>();

/** Where a card is, as if nobody had scrolled: scrolling is done on purpose. */
function place(card: HTMLElement): number {
  const scroller = card.closest<HTMLElement>(".panel-scroll, .view-scroll");
  return card.getBoundingClientRect().top + (scroller?.scrollTop ?? 0);
}

export function watchMoves(card: HTMLElement, moved: () => void): () => void {
  watched.set(card, { top: place(card), moved });
  return () => watched.delete(card);
}

export function checkMoves(): void {
  for (const [card, known] of watched) {
    const top = place(card);
    if (Math.abs(top - known.top) < 4) continue;
    known.top = top;
    known.moved();
  }
}
