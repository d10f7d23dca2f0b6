// Whether somebody works with keys or with a pointer right now, and what they point at.

let pointed: Element | null = null;

addEventListener("keydown", () => (pointed = null), true);
addEventListener("pointerdown", (event) => (pointed = event.target as Element | null), true);

export function wasKey(): boolean {
  return pointed === null;
}

/** Whether the last thing somebody did was to point at it, or at something in it. */
export function isPointedAt(element: Element): boolean {
  return pointed !== null && element.contains(pointed);
}
