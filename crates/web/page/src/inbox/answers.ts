// What a letter means on a request. Decides nothing: whether the letter counts is for the guard to say.

import type { Approval, Decision } from "../api/types";
import type { Meaning } from "./guard";
import { offers, type Reach } from "./rules";

/** What is asked after one of the buttons. */
export type Step =
  | { kind: "choice" }
  | { kind: "calls"; reach: Exclude<Reach, "once"> }
  | { kind: "reason" }
  | { kind: "arguments" }
  | { kind: "form" };

export type Answer = { by: 1 | -1 } | { step: Step } | { decision: Decision };

export function answerOf(letter: string, approval: Approval): Answer | null {
  const isForm = !!approval.form;
  const canOnce = offers(approval, "once");
  switch (letter) {
    case "o":
    case "y":
      if (!canOnce) return null;
      return isForm ? { step: { kind: "form" } } : { decision: { decision: "approve", scope: "once" } };
    case "s":
      return offers(approval, "session") ? { step: { kind: "calls", reach: "session" } } : null;
    case "a":
      return offers(approval, "always") ? { step: { kind: "calls", reach: "always" } } : null;
    case "e":
      return canOnce ? { step: { kind: isForm ? "form" : "arguments" } } : null;
    case "d":
    case "n":
      return { step: { kind: "reason" } };
    default:
      return goes(letter);
  }
}

/** Letters that go to another card. */
export function goes(letter: string): { by: 1 | -1 } | null {
  if (letter === "k") return { by: -1 };
  return letter === "j" || letter === "l" ? { by: 1 } : null;
}

export function meaningOf(answer: Answer | null): Meaning {
  if (answer === null) return "nothing";
  if ("by" in answer) return "goes";
  return "step" in answer ? "opens" : "decides";
}
