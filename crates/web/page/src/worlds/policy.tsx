// The rules of a world: what agents may do. Written by fields or as JSON, tried out while they are written, and compared with
// what was decided before.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { policy as calls, worlds, type Comparison } from "../api/calls";
import { problemText } from "../api/http";
import { isSame as isSameJson, print, readWritten } from "../api/json";
import type { Fields, Json, Policy, World } from "../api/types";
import { mayManage } from "../state/session";
import { useUnsaved } from "../state/unsaved";
import { putWorld } from "../state/worlds";
import { Icon } from "../ui/icons";
import { callLine, plural, reveal } from "../words";
import { RuleItem } from "./rule";
import {
  blankRule,
  freeName,
  isRead,
  isUnfinished,
  moved,
  newKey,
  readRule,
  ruleOf,
  writeRule,
  type Entry,
} from "./rules";
import { SavingProblem, useSaving } from "./saving";
import { TryOut } from "./trial";

const PRESETS: [string, string, string][] = [
  ["ask", "Ask", "each tool says whether it asks"],
  ["read_only", "Read only", "whatever does more than read is denied"],
  ["trusted", "Trusted", "asks only before what may destroy something"],
];

const EXAMPLES: [string, Fields][] = [
  [
    "deny a command",
    { id: "no-push", ruling: "deny", tool: "shell_cmd", command: { program: "git", parameters: ["push"] } },
  ],
  [
    "allow a command",
    { id: "git-status", ruling: "allow", tool: "shell_cmd", command: { program: "git", parameters: ["status"] } },
  ],
  ["allow writing in a folder", { id: "notes", ruling: "allow", tool: "write_file", paths: { within: ["notes"] } }],
];

const entriesOf = (policy: Policy): Entry[] => (policy.rules ?? []).map((rule) => readRule(rule as unknown as Json));
const draftOf = (policy: Policy) => ({ preset: policy.preset, rules: entriesOf(policy).map(writeRule) });
const written = (entries: readonly Entry[]) => print(entries.map(writeRule), 2);

export function PolicyEditor({ world }: { world: World }) {
  const [begun, setBegun] = useState(world);
  const [preset, setPreset] = useState(world.policy.preset);
  const [entries, setEntries] = useState(() => entriesOf(world.policy));
  /** The rules as JSON, while they are changed so. */
  const [text, setText] = useState<string | null>(null);
  const [difference, setDifference] = useState<Comparison | null>(null);
  const [told, setTold] = useState<{ rule: string | null; problem: string | null }>({ rule: null, problem: null });
  const [tools, setTools] = useState<string[]>([]);
  const saving = useSaving();
  useEffect(() => {
    worlds.tools(world.id).then(
      (found) => setTools(found.map((tool) => tool.name)),
      () => {},
    );
  }, [world.id]);
  const read = text === null ? { entries } : readText(text);
  const rules = "entries" in read ? read.entries.map(writeRule) : null;
  const draft = rules && { preset, rules };
  const latest = useRef(draft);
  latest.current = draft;
  const isSame = isSameJson(draft, draftOf(begun.policy));
  const granted = world.policy.granted?.length ?? 0;
  const isReady = draft && !isSame && !saving.isBusy && "entries" in read && !read.entries.some(isUnfinished);
  useUnsaved(!isSame);
  // What somebody else changed meanwhile is taken over, unless it is about the same.
  useEffect(() => {
    if (world.version <= begun.version) return;
    if (isSame || isSameJson(draft, draftOf(world.policy))) take(world);
    else if (isSameJson(world.policy, begun.policy)) setBegun(world);
  }, [world.version]);
  const take = (now: World) => {
    setBegun(now);
    setPreset(now.policy.preset);
    setEntries(entriesOf(now.policy));
    setText((before) => (before === null ? null : written(entriesOf(now.policy))));
    setDifference(null);
    saving.clear();
  };
  const reload = async () => {
    const now = await worlds.read(world.id);
    putWorld(now);
    take(now);
  };
  const save = () =>
    draft &&
    saving.save(async () => {
      await calls.write(world.id, draft, begun.version);
      const now = await worlds.read(world.id);
      putWorld(now);
      // What was written while it was saved is what is to be saved next.
      if (isSameJson(draft, latest.current)) take(now);
      else setBegun(now);
    });
  const compare = () =>
    draft && saving.save(async () => setDifference(await calls.diff(world.id, draft)), "Compared with past calls");
  const put = (next: Entry[]) => {
    setEntries(next);
    setDifference(null);
  };
  return (
    <div class="stack policy">
      <fieldset class="presets" disabled={!mayManage.value}>
        <legend class="legend">Where no rule speaks</legend>
        {PRESETS.map(([name, title, meaning]) => (
          <label key={name} class="template">
            <input type="radio" name="preset" checked={preset === name} onChange={() => setPreset(name)} />
            <span>
              <strong>{title}</strong> <span class="soft small-text">{meaning}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <section>
        <div class="row rules-head">
          <h2 class="section-title grow">{plural(read && "entries" in read ? read.entries.length : 0, "rule")}</h2>
          <Ways
            isJson={text !== null}
            canLeave={"entries" in read}
            choose={(json) => {
              if (json) setText(written(entries));
              else if ("entries" in read) {
                put(read.entries);
                setText(null);
              }
            }}
          />
        </div>
        <p class="soft small-text">
          The first that fits decides, but a deny wins wherever it stands.
          {granted > 0 && (
            <>
              {" "}
              Before them stand <a href="#permissions">{plural(granted, "permission")}</a> that people gave.
            </>
          )}
        </p>
        {text === null ? (
          <RuleList world={world} entries={entries} put={put} told={told} tools={tools} />
        ) : (
          <label class="field">
            <span>Rules, as a JSON list</span>
            <textarea
              class="code"
              rows={Math.max(7, Math.min(24, text.split("\n").length + 1))}
              spellcheck={false}
              readOnly={!mayManage.value}
              value={text}
              aria-invalid={"problem" in read}
              onInput={(event) => {
                setText(event.currentTarget.value);
                setDifference(null);
              }}
            />
          </label>
        )}
        {"problem" in read && (
          <p class="bad-text" role="status">
            {read.problem}
          </p>
        )}
        {text !== null && told.problem && <p class="bad-text lines">{reveal(told.problem)}</p>}
      </section>
      <SavingProblem saving={saving} reload={() => void reload()} />
      {mayManage.value && (
        <div class="row end">
          {!isSame && (
            <button type="button" class="button" disabled={saving.isBusy} onClick={() => take(begun)}>
              Undo all
            </button>
          )}
          <button type="button" class="button" disabled={!isReady} onClick={compare}>
            Compare with past calls
          </button>
          <button type="button" class="button primary" disabled={!isReady} onClick={save}>
            Save rules
          </button>
        </div>
      )}
      {difference && <Difference found={difference} />}
      <TryOut
        world={world}
        draft={isSame ? null : draft}
        tools={tools}
        found={(rule, problem) => setTold({ rule, problem })}
      />
    </div>
  );
}

function readText(text: string): { entries: Entry[] } | { problem: string } {
  try {
    const read = readWritten(text);
    return Array.isArray(read) ? { entries: read.map(readRule) } : { problem: "Rules are a list, in brackets." };
  } catch (error) {
    return { problem: `That is not JSON: ${problemText(error)}` };
  }
}

function Ways({ isJson, canLeave, choose }: { isJson: boolean; canLeave: boolean; choose: (json: boolean) => void }) {
  return (
    <div class="segments" role="group" aria-label="How rules are written">
      <button
        type="button"
        class="segment"
        aria-pressed={!isJson}
        disabled={!canLeave}
        onClick={() => isJson && choose(false)}
      >
        List
      </button>
      <button type="button" class="segment" aria-pressed={isJson} onClick={() => !isJson && choose(true)}>
        JSON
      </button>
    </div>
  );
}

interface ListProps {
  world: World;
  entries: Entry[];
  put: (entries: Entry[]) => void;
  told: { rule: string | null; problem: string | null };
  tools: readonly string[];
}

function RuleList({ world, entries, put, told, tools }: ListProps) {
  const [open, setOpen] = useState<number | null>(null);
  const list = useId();
  const wrong = told.problem ? ruleOf(told.problem, entries) : null;
  const add = (entry: Entry) => {
    put([...entries, entry]);
    setOpen(entry.key);
  };
  return (
    <>
      {entries.length === 0 && <p class="soft rules-none">None yet: the choice above decides about every call.</p>}
      <ol class="rules">
        {entries.map((entry, at) => (
          <RuleItem
            key={entry.key}
            entry={entry}
            place={at}
            count={entries.length}
            isOpen={open === entry.key}
            decides={told.rule !== null && isRead(entry) && entry.id === told.rule}
            problem={wrong === entry.key ? told.problem : null}
            agents={world.agents}
            tools={list}
            mayChange={mayManage.value}
            toggle={() => setOpen(open === entry.key ? null : entry.key)}
            change={(next) => put(entries.map((one) => (one.key === entry.key ? next : one)))}
            move={(by) => put(moved(entries, at, at + by))}
            copy={() => {
              if (!isRead(entry)) return;
              const next = { ...entry, key: newKey(), id: freeName(entry.id, entries) };
              put(entries.toSpliced(at + 1, 0, next));
              setOpen(next.key);
            }}
            remove={() => put(entries.filter((one) => one.key !== entry.key))}
          />
        ))}
      </ol>
      {told.problem && wrong === null && (
        <p class="bad-text lines" role="alert">
          {reveal(told.problem)}
        </p>
      )}
      <datalist id={list}>
        {["*", ...tools].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {mayManage.value && (
        <div class="row add-rule">
          <button type="button" class="button small" onClick={() => add(blankRule(entries))}>
            <Icon name="plus" /> Add a rule
          </button>
          <span class="soft small-text">or begin with:</span>
          {EXAMPLES.map(([name, rule]) => (
            <button
              key={name}
              type="button"
              class="chip"
              onClick={() => add(readRule({ ...rule, id: freeName(String(rule["id"]), entries) }))}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

/** Of what would be decided otherwise. */
const SHOWN = 30;

function Difference({ found }: { found: Comparison }) {
  return (
    <section class="box">
      <h2 class="section-title">
        Of {plural(found.calls, "past call")}, {found.differences.length === 0 ? "none" : found.differences.length}{" "}
        would be decided otherwise
      </h2>
      <ul class="plain-list">
        {found.differences.slice(0, SHOWN).map((one) => (
          <li key={one.tool_call_id}>
            <code>
              {one.agent_id} {one.tool} {callLine(one.arguments)}
            </code>{" "}
            <span class="soft">{reveal(one.explanation)}</span>
          </li>
        ))}
      </ul>
      {found.differences.length > SHOWN && (
        <p class="soft small-text">The first {SHOWN} are shown, {found.differences.length - SHOWN} more are not.</p>
      )}
    </section>
  );
}
