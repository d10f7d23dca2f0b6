// Small things kept in the browser: the colours, what is folded, drafts. Works without where a browser keeps nothing.

import { effect, signal, type Signal } from "@preact/signals";

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`agent-world:${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null): void {
  try {
    if (value === null || value === "") localStorage.removeItem(`agent-world:${name}`);
    else localStorage.setItem(`agent-world:${name}`, value);
  } catch {
    // Kept for as long as the page is open, then.
  }
}

export type Colours = "auto" | "light" | "dark";

function kept<T extends string>(name: string, choices: readonly T[], otherwise: T): Signal<T> {
  const found = recall(name) as T | null;
  const value = signal<T>(found !== null && choices.includes(found) ? found : otherwise);
  effect(() => keep(name, value.value));
  return value;
}

export const colours = kept<Colours>("colours", ["auto", "light", "dark"], "auto");
export const inboxPanel = kept("inbox-panel", ["open", "closed"] as const, "open");
/** Whether the system tells of new requests. Nobody is asked for that before they turn it on. */
export const notices = kept("notices", ["off", "on"] as const, "off");
export const sidebar = kept("sidebar", ["open", "closed"] as const, "open");

export function startColours(): void {
  effect(() => {
    document.documentElement.dataset["colours"] = colours.value;
  });
}

/** What somebody changes a message to; null while they do not. */
export const edited = {
  read: (who: string, message: string) => recall(`edit:${who}:${message}`),
  write: (who: string, message: string, text: string | null) => keep(`edit:${who}:${message}`, text),
};

/** What somebody writes in a chat. Whoever else uses the browser has their own. */
export const draft = {
  read: (who: string, chat: string) => recall(`draft:${who}:${chat}`) ?? "",
  write: (who: string, chat: string, text: string) => keep(`draft:${who}:${chat}`, text),
};
