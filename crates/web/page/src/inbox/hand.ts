// Whether somebody works with keys or with a pointer right now.

let byKey = false;

addEventListener("keydown", () => (byKey = true), true);
addEventListener("pointerdown", () => (byKey = false), true);

export function wasKey(): boolean {
  return byKey;
}
