// How to get to a card: from one to the next, and from anywhere.

import { PENDING } from "./watch";

export function cardId(approval: string): string {
  return `card-${approval}`;
}

/** The next one that waits, before or after a card. */
export function neighbour(card: HTMLElement | null, by: 1 | -1): HTMLElement | null {
  const all = [...document.querySelectorAll<HTMLElement>(".cards > .card")];
  for (let at = card ? all.indexOf(card) + by : 0; at >= 0 && at < all.length; at += by) {
    if (all[at]?.matches(PENDING)) return all[at] ?? null;
  }
  return null;
}

export function focusCard(approval: string): void {
  setTimeout(() => {
    const card = document.getElementById(cardId(approval));
    card?.focus();
    card?.scrollIntoView({ block: "nearest" });
  }, 30);
}

export function focusFirstCard(): void {
  setTimeout(() => document.querySelector<HTMLElement>(PENDING)?.focus(), 30);
}
