// Whom a text addresses, by the rules of the runtime: mentions in the leading run of a line. Used to show it and to complete.

import type { Agent } from "./api/types";

const GREETING = /^(hey|hi|hello|to)\b[\s,]*/i;
const MENTION = /^@([\p{L}\p{N}_-]+)/u;

/** The agents that a text addresses, by id. */
export function addressed(text: string, agents: readonly Agent[]): string[] {
  const found: string[] = [];
  for (const line of text.split("\n")) {
    let rest = line.trimStart().replace(GREETING, "");
    for (;;) {
      const mention = MENTION.exec(rest);
      const agent = mention?.[1] ? findAgent(mention[1], agents) : undefined;
      if (!mention || !agent) break;
      if (!found.includes(agent.id)) found.push(agent.id);
      rest = rest.slice(mention[0].length).replace(/^[\s,]+/, "");
    }
  }
  return found;
}

export function findAgent(name: string, agents: readonly Agent[]): Agent | undefined {
  const wanted = name.toLowerCase();
  return agents.find((agent) => agent.id.toLowerCase() === wanted || agent.name.toLowerCase() === wanted);
}

export interface Begun {
  /** Where the `@` stands. */
  from: number;
  typed: string;
}

/** The mention that is being typed before the cursor. */
export function begunMention(text: string, cursor: number): Begun | null {
  const found = /(^|\s)@([\p{L}\p{N}_-]*)$/u.exec(text.slice(0, cursor));
  if (!found) return null;
  const typed = found[2] ?? "";
  return { from: cursor - typed.length - 1, typed };
}

export function completions(typed: string, agents: readonly Agent[]): Agent[] {
  const wanted = typed.toLowerCase();
  const starts = (agent: Agent) =>
    agent.id.toLowerCase().startsWith(wanted) || agent.name.toLowerCase().startsWith(wanted);
  const holds = (agent: Agent) => agent.id.toLowerCase().includes(wanted) || agent.name.toLowerCase().includes(wanted);
  return [...agents.filter(starts), ...agents.filter((agent) => !starts(agent) && holds(agent))].slice(0, 8);
}
