// The rules of a world: what agents may do, tried out while they are written, and compared with what was decided before.

import { useEffect, useState } from "preact/hooks";
import { policy as calls, worlds, type Comparison, type Trial } from "../api/calls";
import { problemText } from "../api/http";
import type { Fields, Json, Policy, World } from "../api/types";
import { mayManage } from "../state/session";
import { putWorld } from "../state/worlds";
import { callLine, plural, reveal } from "../words";
import { SavingProblem, useSaving } from "./saving";

const PRESETS: [string, string][] = [
  ["ask", "Ask: each tool says whether it asks"],
  ["read-only", "Read only: whatever does more than read is denied"],
  ["trusted", "Trusted: asks only before what may destroy something"],
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

export function PolicyEditor({ world }: { world: World }) {
  const [begun, setBegun] = useState(world);
  const [preset, setPreset] = useState(world.policy.preset);
  const [text, setText] = useState(() => written(world.policy));
  const [difference, setDifference] = useState<Comparison | null>(null);
  const saving = useSaving();
  const read = readRules(text);
  const draft = "rules" in read ? { preset, rules: read.rules } : null;
  const isSame = preset === begun.policy.preset && text === written(begun.policy);
  const reload = async () => {
    const now = await worlds.read(world.id);
    putWorld(now);
    setBegun(now);
    setPreset(now.policy.preset);
    setText(written(now.policy));
  };
  const save = () =>
    draft &&
    saving.save(async () => {
      await calls.write(world.id, draft, begun.version);
      await reload();
    });
  const compare = () =>
    draft && saving.save(async () => setDifference(await calls.diff(world.id, draft)), "Compared with past calls");
  return (
    <div class="stack">
      <p class="soft">
        The first rule that matches decides, but a deny wins wherever it stands. Where no rule speaks, the preset
        decides.
      </p>
      <label class="field">
        <span>Where no rule speaks</span>
        <select value={preset} disabled={!mayManage.value} onChange={(event) => setPreset(event.currentTarget.value)}>
          {PRESETS.map(([name, meaning]) => (
            <option key={name} value={name}>
              {meaning}
            </option>
          ))}
        </select>
      </label>
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
      {mayManage.value && "rules" in read && (
        <div class="row">
          <span class="soft small-text">Begin with an example:</span>
          {EXAMPLES.map(([name, rule]) => (
            <button
              key={name}
              type="button"
              class="chip"
              onClick={() => setText(JSON.stringify([...read.rules, rule], null, 2))}
            >
              {name}
            </button>
          ))}
        </div>
      )}
      {"problem" in read && (
        <p class="bad-text" role="status">
          {read.problem}
        </p>
      )}
      <SavingProblem saving={saving} reload={() => void reload()} />
      {mayManage.value && (
        <div class="row end">
          <button type="button" class="button" disabled={!draft || saving.isBusy} onClick={compare}>
            Compare with past calls
          </button>
          <button type="button" class="button primary" disabled={!draft || isSame || saving.isBusy} onClick={save}>
            Save rules
          </button>
        </div>
      )}
      {difference && <Difference found={difference} />}
      <TryOut world={world} draft={isSame ? null : draft} />
    </div>
  );
}

function written(policy: Policy): string {
  return JSON.stringify(policy.rules ?? [], null, 2);
}

function readRules(text: string): { rules: Json[] } | { problem: string } {
  try {
    const read = JSON.parse(text) as Json;
    return Array.isArray(read) ? { rules: read } : { problem: "Rules are a list, in brackets." };
  } catch (error) {
    return { problem: `That is not JSON: ${problemText(error)}` };
  }
}

function Difference({ found }: { found: Comparison }) {
  return (
    <section class="box">
      <h2 class="section-title">
        Of {plural(found.calls, "past call")}, {found.differences.length === 0 ? "none" : found.differences.length}{" "}
        would be decided otherwise
      </h2>
      <ul class="plain-list">
        {found.differences.slice(0, 30).map((one) => (
          <li key={one.tool_call_id}>
            <code>
              {one.agent_id} {one.tool} {callLine(one.arguments)}
            </code>{" "}
            <span class="soft">{reveal(one.explanation)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What would be decided about a call, by the rules as they are written here. */
function TryOut({ world, draft }: { world: World; draft: { preset: string; rules: Json[] } | null }) {
  const [agent, setAgent] = useState(world.agents[0]?.id ?? "");
  const [line, setLine] = useState("git push");
  const [found, setFound] = useState<Trial | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const key = JSON.stringify(draft);
  useEffect(() => {
    if (!line.trim()) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const body: Fields = {
        tool: "shell_cmd",
        arguments: { script: line },
        ...(agent ? { agent } : {}),
        ...(draft ? { policy: draft as unknown as Json } : {}),
      };
      calls.test(world.id, body, stop.signal).then(
        (trial) => {
          setFound(trial);
          setProblem(null);
        },
        (error: unknown) => {
          if (!stop.signal.aborted) {
            setFound(null);
            setProblem(problemText(error));
          }
        },
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [agent, line, key]);
  const tone = found?.verdict === "allow" ? "good" : found?.verdict === "deny" ? "bad" : "warn";
  return (
    <section class="box stack">
      <h2 class="section-title">Try it out{draft ? " with the rules above, before they are saved" : ""}</h2>
      <div class="pair">
        <label class="field">
          <span>Command line</span>
          <input class="code" value={line} spellcheck={false} onInput={(event) => setLine(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Agent</span>
          <select value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
            {world.agents.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div role="status">
        {problem && <p class="bad-text lines">{problem}</p>}
        {found && (
          <p>
            <strong class={`verdict tone-${tone}`}>{found.verdict}</strong>
          </p>
        )}
        {found && <pre class="explanation">{reveal(found.explanation)}</pre>}
      </div>
    </section>
  );
}
