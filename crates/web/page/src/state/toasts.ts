// Short messages that come and go, read aloud where somebody listens.

import { signal } from "@preact/signals";
import { problemText } from "../api/http";

export interface Toast {
  id: number;
  tone: "plain" | "good" | "bad";
  text: string;
  action?: { label: string; act: () => void };
}

export const toasts = signal<Toast[]>([]);
/** What a screen reader is told, besides. */
export const announcement = signal("");

let count = 0;

export function tell(text: string, tone: Toast["tone"] = "plain", action?: Toast["action"]): void {
  const id = (count += 1);
  toasts.value = [...toasts.peek().slice(-3), { id, tone, text, ...(action ? { action } : {}) }];
  setTimeout(() => dismiss(id), tone === "bad" ? 12_000 : action ? 8_000 : 5_000);
}

export function dismiss(id: number): void {
  toasts.value = toasts.peek().filter((toast) => toast.id !== id);
}

export function tellProblem(error: unknown): void {
  tell(problemText(error), "bad");
}

export function announce(text: string): void {
  announcement.value = text;
}

/** Does something and tells what went wrong with it. Returns whether it worked. */
export async function attempt(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    tellProblem(error);
    return false;
  }
}
