// One condition of a rule: what it asks, with the fields that this kind needs.

import { useState } from "preact/hooks";
import { isSame, print, readWritten } from "../api/json";
import type { Json } from "../api/types";
import { Icon } from "../ui/icons";
import { blankCondition, DECLARED, readWords, writeWords, type Condition } from "./rules";

export const KINDS: [Condition["kind"], string][] = [
  ["command", "It runs a command"],
  ["paths", "Its paths lie in folders"],
  ["annotations", "The tool says of itself"],
  ["glob", "An argument is like"],
  ["regex", "An argument matches a regular expression"],
  ["equals", "An argument is exactly"],
];

const SAID: Record<(typeof DECLARED)[number], string> = {
  read_only: "Only reads",
  destructive: "May destroy something",
  idempotent: "May be repeated",
};

interface Props {
  condition: Condition;
  change: (condition: Condition) => void;
  remove: () => void;
}

export function ConditionFields({ condition, change, remove }: Props) {
  return (
    <li class="condition">
      <div class="condition-head">
        <select
          aria-label="Condition"
          value={condition.kind}
          onChange={(event) => change(blankCondition(event.currentTarget.value as Condition["kind"]))}
        >
          {KINDS.map(([kind, meaning]) => (
            <option key={kind} value={kind}>
              {meaning}
            </option>
          ))}
        </select>
        <button type="button" class="icon-button" aria-label="Remove the condition" title="Remove" onClick={remove}>
          <Icon name="close" />
        </button>
      </div>
      <Fields condition={condition} change={change} />
    </li>
  );
}

function Fields({ condition, change }: Omit<Props, "remove">) {
  switch (condition.kind) {
    case "command":
      return (
        <div class="pair">
          <Text
            label="Program"
            value={condition.program}
            hint="git, or * for any"
            change={(program) => change({ ...condition, program })}
          />
          <Words
            label="Parameters"
            value={condition.parameters}
            hint="push, or none for all"
            change={(parameters) => change({ ...condition, parameters })}
          />
        </div>
      );
    case "paths":
      return (
        <div class="pair">
          <Words
            label="Folders"
            value={condition.within}
            hint="notes src/**, or . for the working folder"
            change={(within) => change({ ...condition, within })}
          />
          <Text
            label="Of the argument"
            value={condition.pointer}
            hint="every path"
            change={(pointer) => change({ ...condition, pointer })}
          />
        </div>
      );
    case "annotations":
      return (
        <div class="pair">
          {DECLARED.map((name) => (
            <label key={name} class="field">
              <span>{SAID[name]}</span>
              <select
                value={condition[name] === undefined ? "" : String(condition[name])}
                onChange={(event) => {
                  const { [name]: _before, ...others } = condition;
                  const now = event.currentTarget.value;
                  change(now === "" ? others : { ...others, [name]: now === "true" });
                }}
              >
                <option value="">Does not matter</option>
                <option value="true">Yes</option>
                <option value="false">No</option>
              </select>
            </label>
          ))}
        </div>
      );
    case "equals":
      return (
        <div class="pair">
          <Pointer value={condition.pointer} change={(pointer) => change({ ...condition, pointer })} />
          <Value value={condition.value} change={(value) => change({ ...condition, value })} />
        </div>
      );
    default:
      return (
        <div class="pair">
          <Pointer value={condition.pointer} change={(pointer) => change({ ...condition, pointer })} />
          <Text
            label={condition.kind === "glob" ? "Is like" : "Regular expression"}
            value={condition.text}
            hint={condition.kind === "glob" ? "https://*.example.org/*" : "[a-z-]+"}
            change={(text) => change({ ...condition, text })}
          />
        </div>
      );
  }
}

function Text({
  label,
  value,
  hint,
  change,
}: {
  label: string;
  value: string;
  hint: string;
  change: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="code"
        value={value}
        placeholder={hint}
        spellcheck={false}
        autocapitalize="off"
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

function Pointer({ value, change }: { value: string; change: (value: string) => void }) {
  return <Text label="Argument" value={value} hint="/path" change={change} />;
}

/** A list of words on one line. What is typed stays as typed: a space at the end is the beginning of the next word. */
function Words({
  label,
  value,
  hint,
  change,
}: {
  label: string;
  value: string[];
  hint: string;
  change: (value: string[]) => void;
}) {
  const [text, setText] = useState(() => writeWords(value));
  const isOwn = isSame(readWords(text), value);
  return (
    <Text
      label={label}
      value={isOwn ? text : writeWords(value)}
      hint={hint}
      change={(next) => {
        setText(next);
        change(readWords(next));
      }}
    />
  );
}

/** Whatever JSON can be; a text needs no quotes unless it would be something else without. */
function Value({ value, change }: { value: Json; change: (value: Json) => void }) {
  const [text, setText] = useState(() => writtenValue(value));
  return (
    <Text
      label="Value"
      value={isSame(readValue(text), value) ? text : writtenValue(value)}
      hint="a text, or JSON"
      change={(next) => {
        setText(next);
        change(readValue(next));
      }}
    />
  );
}

function readValue(text: string): Json {
  try {
    return readWritten(text);
  } catch {
    return text;
  }
}

function writtenValue(value: Json): string {
  return typeof value === "string" && readValue(value) === value ? value : print(value);
}
