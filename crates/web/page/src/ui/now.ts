// The time, as a signal that moves every half minute: for ages that are shown. One clock for all.

import { signal } from "@preact/signals";

export const now = signal(Date.now());
/** Moves every second, for what is under way. */
export const second = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, 30_000);
setInterval(() => {
  second.value = Date.now();
}, 1_000);
