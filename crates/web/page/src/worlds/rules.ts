// Rules as the editor has them: read from whatever way they were written, put into words, written back. Pure.

import { isFields, print } from "../api/json";
import type { Fields, Json } from "../api/types";
import { callLine, revealLine, word } from "../words";

export type Ruling = "allow" | "ask" | "deny";

export type Condition =
  | { kind: "command"; program: string; parameters: string[] }
  | { kind: "paths"; pointer: string; within: string[] }
  | { kind: "annotations"; read_only?: boolean; destructive?: boolean; idempotent?: boolean }
  | { kind: "glob"; pointer: string; text: string }
  | { kind: "regex"; pointer: string; text: string }
  | { kind: "equals"; pointer: string; value: Json };

export interface RuleDraft {
  /** Stays the same while its name is changed. */
  key: number;
  id: string;
  ruling: Ruling;
  tool: string;
  agent: string | null;
  conditions: Condition[];
  description: string;
  /** What the editor has no fields for, kept as it was. */
  rest: Fields;
}

/** A rule in which something stands that the fields cannot hold: only its JSON can be changed. */
export interface Unread {
  key: number;
  json: Json;
}

export type Entry = RuleDraft | Unread;

export const isRead = (entry: Entry): entry is RuleDraft => "ruling" in entry;

const RULINGS = new Set(["allow", "ask", "deny"]);
const KNOWN = new Set(["id", "ruling", "tool", "agent", "matches", "command", "paths", "annotations", "description"]);
export const DECLARED = ["read_only", "destructive", "idempotent"] as const;

let count = 0;
export const newKey = () => (count += 1);

const isText = (value: Json | undefined): value is string => typeof value === "string";
const areTexts = (value: Json | undefined): value is string[] => Array.isArray(value) && value.every(isText);
const hasOnly = (fields: Fields, names: readonly string[]) => Object.keys(fields).every((name) => names.includes(name));

export function readRule(json: Json): Entry {
  return understood(json) ?? { key: newKey(), json };
}

function understood(json: Json): RuleDraft | null {
  if (!isFields(json)) return null;
  const { id, ruling, tool, agent, description } = json;
  if (!isText(id) || !isText(ruling) || !RULINGS.has(ruling) || !isText(tool)) return null;
  if (agent !== undefined && agent !== null && !isText(agent)) return null;
  if (description !== undefined && description !== null && !isText(description)) return null;
  const listed = json["matches"] ?? [];
  if (!Array.isArray(listed)) return null;
  // A condition may also stand beside the list; it means the same.
  const beside = ["command", "paths", "annotations"].flatMap((name): Json[] => {
    const given = json[name];
    if (given === undefined || given === null) return [];
    if (name !== "paths" || !isFields(given)) return [{ [name]: given }];
    const { pointer, ...paths } = given;
    return [{ ...(pointer === undefined ? {} : { pointer }), paths }];
  });
  const conditions: Condition[] = [];
  for (const one of [...listed, ...beside]) {
    const read = readCondition(one);
    if (!read) return null;
    conditions.push(read);
  }
  return {
    key: newKey(),
    id,
    ruling: ruling as Ruling,
    tool,
    agent: isText(agent) ? agent : null,
    conditions,
    description: isText(description) ? description : "",
    rest: Object.fromEntries(Object.entries(json).filter(([name]) => !KNOWN.has(name))),
  };
}

function readCondition(json: Json): Condition | null {
  if (!isFields(json)) return null;
  const { pointer: at, ...test } = json;
  if (at !== undefined && !isText(at)) return null;
  const pointer = at ?? "";
  const [name, ...more] = Object.keys(test);
  if (name === undefined || more.length > 0) return null;
  const value = test[name];
  if (name === "equals" && value !== undefined) return { kind: "equals", pointer, value };
  if ((name === "glob" || name === "regex") && isText(value)) return { kind: name, pointer, text: value };
  if (!isFields(value)) return null;
  if (name === "command" && pointer === "" && hasOnly(value, ["program", "parameters"])) {
    const { program, parameters = [] } = value;
    return isText(program) && areTexts(parameters) ? { kind: "command", program, parameters } : null;
  }
  if (name === "paths" && hasOnly(value, ["within"]))
    return areTexts(value["within"]) ? { kind: "paths", pointer, within: value["within"] } : null;
  if (name === "annotations" && pointer === "" && hasOnly(value, DECLARED)) {
    if (!Object.values(value).every((one) => typeof one === "boolean")) return null;
    return { kind: "annotations", ...(value as { [name: string]: boolean }) };
  }
  return null;
}

export function writeRule(entry: Entry): Json {
  if (!isRead(entry)) return entry.json;
  return {
    id: entry.id,
    ruling: entry.ruling,
    tool: entry.tool,
    ...(entry.agent === null ? {} : { agent: entry.agent }),
    ...(entry.conditions.length === 0 ? {} : { matches: entry.conditions.map(writeCondition) }),
    ...(entry.description.trim() === "" ? {} : { description: entry.description }),
    ...entry.rest,
  };
}

function writeCondition(one: Condition): Fields {
  const at: Fields = "pointer" in one && one.pointer !== "" ? { pointer: one.pointer } : {};
  switch (one.kind) {
    case "command":
      return {
        command: { program: one.program, ...(one.parameters.length > 0 ? { parameters: one.parameters } : {}) },
      };
    case "paths":
      return { ...at, paths: { within: one.within } };
    case "annotations": {
      const { kind: _kind, ...asked } = one;
      return { annotations: asked };
    }
    case "equals":
      return { ...at, equals: one.value };
    default:
      return { ...at, [one.kind]: one.text };
  }
}

/** The same of a condition as the server has it; as it stands where it is not understood. */
export function matchWords(json: Json): { before: string; code: string } {
  const read = readCondition(json);
  return read ? conditionWords(read) : { before: "where", code: revealLine(print(json)) };
}

const shownWord = (one: string) => (one === "…" ? one : word(one));

/** Whether something is still to be written before it can mean anything. */
export function isUnfinished(entry: Entry): boolean {
  return isRead(entry) && entry.conditions.some((one) => one.kind === "command" && one.program.trim() === "");
}

/** Arguments on one line: as a command only where nothing else is among them. */
function exactly(value: Json): string {
  const isCommand =
    isFields(value) &&
    isText(value["command"]) &&
    hasOnly(value, ["command", "parameters"]) &&
    areTexts(value["parameters"] ?? []);
  return isCommand ? callLine(value) : revealLine(print(value));
}

/** What a condition asks, as the end of a sentence. */
export function conditionWords(one: Condition): { before: string; code: string } {
  const of = (pointer: string) => (pointer === "" ? "arguments" : pointer.slice(1).replace(/~1/g, "/"));
  switch (one.kind) {
    case "command":
      return { before: "that runs", code: [one.program || "…", ...one.parameters].map(shownWord).join(" ") };
    case "paths": {
      const what = one.pointer === "" ? "whose paths lie in" : `whose ${of(one.pointer)} lies in`;
      return { before: what, code: one.within.map((path) => revealLine(path)).join(", ") };
    }
    case "annotations": {
      const words = { read_only: "only reads", destructive: "may destroy", idempotent: "may be repeated" };
      const said = DECLARED.filter((name) => one[name] !== undefined).map(
        (name) => `${one[name] ? "" : "not: "}${words[name]}`,
      );
      return { before: "which says that it", code: said.join(", ") };
    }
    case "equals":
      if (one.pointer === "") return { before: "exactly for", code: exactly(one.value) };
      return { before: `whose ${of(one.pointer)} is`, code: revealLine(print(one.value)) };
    case "glob":
      return { before: `whose ${of(one.pointer)} is like`, code: revealLine(one.text) };
    default:
      return { before: `whose ${of(one.pointer)} matches`, code: revealLine(one.text) };
  }
}

/** Words as a person types them: between spaces, or in double quotes. */
export function readWords(text: string): string[] {
  const found = text.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  return found.map((one) => {
    if (!/^".*"$/s.test(one) || one.length < 2) return one;
    return one.slice(1, -1).replace(/\\(["\\])/g, "$1");
  });
}

export function writeWords(words: readonly string[]): string {
  return words.map((one) => (one === "" || /[\s"]/.test(one) ? `"${one.replace(/["\\]/g, "\\$&")}"` : one)).join(" ");
}

/** A name for a rule that no other has. */
export function freeName(wish: string, entries: readonly Entry[]): string {
  const taken = new Set(entries.map((entry) => (isRead(entry) ? entry.id : "")));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wish : `${wish}-${number}`;
    if (!taken.has(name)) return name;
  }
}

export function blankRule(entries: readonly Entry[]): RuleDraft {
  return {
    key: newKey(),
    id: freeName("rule", entries),
    ruling: "ask",
    tool: "shell_cmd",
    agent: null,
    conditions: [{ kind: "command", program: "", parameters: [] }],
    description: "",
    rest: {},
  };
}

export function blankCondition(kind: Condition["kind"]): Condition {
  switch (kind) {
    case "command":
      return { kind, program: "", parameters: [] };
    case "paths":
      return { kind, pointer: "", within: ["."] };
    case "annotations":
      return { kind, read_only: true };
    case "equals":
      return { kind, pointer: "/", value: "" };
    default:
      return { kind, pointer: "/", text: "" };
  }
}

/** The same list with one of it in another place. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list];
  const [one] = next.splice(from, 1);
  if (one !== undefined) next.splice(Math.max(0, Math.min(next.length, to)), 0, one);
  return next;
}

/** What a text of the server says of a rule, without saying of which. */
export function problemWords(problem: string): string {
  const words = problem.replace(/^.*?\brule [^:\s]+: /s, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Which rule a text of the server is about, where it is about one. */
export function ruleOf(problem: string, entries: readonly Entry[]): number | null {
  const byName = /\brule ([^:\s]+):/.exec(problem)?.[1];
  const byPlace = /\brules\[(\d+)\]/.exec(problem)?.[1];
  const named = entries.find((entry) => isRead(entry) && entry.id === byName);
  return named?.key ?? (byPlace === undefined ? null : (entries[Number(byPlace)]?.key ?? null));
}
