// One rule of a policy: a line that says what it means, and below it, when it is opened, the fields to change it.

import { print } from "../api/json";
import type { Agent } from "../api/types";
import { Icon } from "../ui/icons";
import { Menu } from "../ui/menu";
import { reveal } from "../words";
import { ConditionFields } from "./condition";
import {
  blankCondition,
  conditionWords,
  isRead,
  isUnfinished,
  problemWords,
  type Entry,
  type RuleDraft,
  type Ruling,
} from "./rules";

const RULINGS: [Ruling, string][] = [
  ["allow", "Allow"],
  ["ask", "Ask"],
  ["deny", "Deny"],
];
const TONES: Record<Ruling, string> = { allow: "good", ask: "warn", deny: "bad" };

interface Props {
  entry: Entry;
  place: number;
  count: number;
  isOpen: boolean;
  /** It decides the call that is tried out. */
  decides: boolean;
  problem: string | null;
  agents: readonly Agent[];
  tools: string;
  mayChange: boolean;
  toggle: () => void;
  change: (entry: Entry) => void;
  move: (by: 1 | -1) => void;
  copy: () => void;
  remove: () => void;
}

export function RuleItem(props: Props) {
  const { entry, place, count, isOpen, mayChange } = props;
  const name = isRead(entry) ? entry.id : `rule ${place + 1}`;
  // Whoever has only begun to write it knows that it is not finished.
  const isBegun = isUnfinished(entry);
  const keys = (event: KeyboardEvent) => {
    if (!event.altKey || !mayChange || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    props.move(event.key === "ArrowUp" ? -1 : 1);
  };
  return (
    <li class={`rule ${isOpen ? "open" : ""} ${props.problem && !isBegun ? "wrong" : ""}`} data-rule={name}>
      <div class="rule-head">
        <button type="button" class="rule-line" aria-expanded={isOpen} onClick={props.toggle} onKeyDown={keys}>
          <Icon name="chevron" class={`icon turn ${isOpen ? "turned" : ""}`} />
          {isRead(entry) ? <Summary rule={entry} agents={props.agents} /> : <span>{name}, only as JSON</span>}
          {props.decides && <span class="tag decides">decides</span>}
        </button>
        {mayChange && (
          <>
            <button
              type="button"
              class="icon-button"
              aria-label={`Move ${name} up`}
              title="Move up (Alt ↑)"
              disabled={place === 0}
              onClick={() => props.move(-1)}
            >
              <Icon name="up" />
            </button>
            <button
              type="button"
              class="icon-button"
              aria-label={`Move ${name} down`}
              title="Move down (Alt ↓)"
              disabled={place === count - 1}
              onClick={() => props.move(1)}
            >
              <Icon name="arrowDown" />
            </button>
            <Menu
              label={`Menu of ${name}`}
              items={[
                ...(isRead(entry) ? [{ label: "Duplicate", icon: "copy" as const, act: props.copy }] : []),
                { label: "Remove", icon: "trash", isDangerous: true, act: props.remove },
              ]}
            />
          </>
        )}
      </div>
      {isBegun && <p class="soft small-text rule-problem">Name the program that it is about.</p>}
      {props.problem && !isBegun && (
        <p class="bad-text small-text rule-problem lines" role="alert">
          {reveal(problemWords(props.problem))}
        </p>
      )}
      {isOpen &&
        (isRead(entry) ? (
          <fieldset class="rule-form stack" disabled={!mayChange}>
            <RuleForm rule={entry} agents={props.agents} tools={props.tools} change={props.change} />
          </fieldset>
        ) : (
          <div class="rule-form">
            <p class="soft small-text">Something in it has no field here. It can be changed as JSON.</p>
            <pre class="output">{reveal(print(entry.json, 2))}</pre>
          </div>
        ))}
    </li>
  );
}

/** A rule as a sentence. */
function Summary({ rule, agents }: { rule: RuleDraft; agents: readonly Agent[] }) {
  const agent = rule.agent === null ? null : (agents.find((one) => one.id === rule.agent)?.name ?? rule.agent);
  return (
    <>
      <strong class={`ruling tone-${TONES[rule.ruling]}`}>{RULINGS.find(([name]) => name === rule.ruling)?.[1]}</strong>
      <span class="rule-words">
        {rule.tool === "*" ? "every tool" : <code>{reveal(rule.tool)}</code>}
        {agent && <> of {agent}</>}
        {rule.conditions.map((one, at) => {
          const { before, code } = conditionWords(one);
          return (
            <span key={at}>
              {at === 0 ? " " : " and "}
              {before} <code>{code || "?"}</code>
            </span>
          );
        })}
        {rule.description && <span class="soft rule-note">{reveal(rule.description)}</span>}
      </span>
    </>
  );
}

interface FormProps {
  rule: RuleDraft;
  agents: readonly Agent[];
  tools: string;
  change: (rule: RuleDraft) => void;
}

function RuleForm({ rule, agents, tools, change }: FormProps) {
  const put = (by: Partial<RuleDraft>) => change({ ...rule, ...by });
  const examples = rule.rest["examples"] as { must_match?: unknown[]; must_not_match?: unknown[] } | undefined;
  const shown = (examples?.must_match?.length ?? 0) + (examples?.must_not_match?.length ?? 0);
  return (
    <>
      <div class="segments" role="radiogroup" aria-label="What it decides">
        {RULINGS.map(([name, word]) => (
          <label key={name} class={`segment tone-${TONES[name]}`}>
            <input
              type="radio"
              class="off-screen"
              name={`ruling-${rule.key}`}
              checked={rule.ruling === name}
              onChange={() => put({ ruling: name })}
            />
            {word}
          </label>
        ))}
      </div>
      <div class="pair">
        <label class="field">
          <span>Tool</span>
          <input
            class="code"
            list={tools}
            value={rule.tool}
            spellcheck={false}
            placeholder="* for every tool"
            onInput={(event) => put({ tool: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>Agent</span>
          <select
            value={rule.agent ?? ""}
            onChange={(event) => put({ agent: event.currentTarget.value === "" ? null : event.currentTarget.value })}
          >
            <option value="">Every agent</option>
            {agents.map((agent) => (
              <option key={agent.id} value={agent.id}>
                {agent.name}
              </option>
            ))}
            {rule.agent !== null && !agents.some((agent) => agent.id === rule.agent) && (
              <option value={rule.agent}>{rule.agent} (not here)</option>
            )}
          </select>
        </label>
      </div>
      <div>
        <p class="legend">{rule.conditions.length === 0 ? "For every call of it" : "Where all of this holds"}</p>
        <ul class="conditions">
          {rule.conditions.map((one, at) => (
            <ConditionFields
              key={at}
              condition={one}
              change={(next) =>
                put({ conditions: rule.conditions.map((other, index) => (index === at ? next : other)) })
              }
              remove={() => put({ conditions: rule.conditions.filter((_, index) => index !== at) })}
            />
          ))}
        </ul>
        <button
          type="button"
          class="text-button"
          onClick={() =>
            put({
              conditions: [...rule.conditions, blankCondition(rule.tool === "shell_cmd" ? "command" : "paths")],
            })
          }
        >
          Add a condition
        </button>
      </div>
      <div class="pair">
        <label class="field">
          <span>Why</span>
          <input
            value={rule.description}
            placeholder="for whoever reads it next"
            onInput={(event) => put({ description: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>Name</span>
          <input
            class="code"
            value={rule.id}
            spellcheck={false}
            onInput={(event) => put({ id: event.currentTarget.value })}
          />
        </label>
      </div>
      {shown > 0 && (
        <p class="soft small-text">
          It has {shown} examples, which are checked when it is saved. They stand in the JSON.
        </p>
      )}
    </>
  );
}
