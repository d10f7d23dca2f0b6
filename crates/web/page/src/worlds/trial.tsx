// What would be decided about a call, by the rules as they are being written.

import { useEffect, useState } from "preact/hooks";
import { policy as calls, type Trial } from "../api/calls";
import { Problem, problemText } from "../api/http";
import { isFields, print, readWritten } from "../api/json";
import type { Fields, Json, World } from "../api/types";
import { callLine, reveal } from "../words";

export interface Draft {
  preset: string;
  rules: Json[];
}

interface Props {
  world: World;
  /** Absent: the rules that hold now. */
  draft: Draft | null;
  tools: readonly string[];
  /** Told which rule decides, and what is wrong with the rules. */
  found: (rule: string | null, problem: string | null) => void;
}

const SHELL = "shell_cmd";

export function TryOut({ world, draft, tools, found: tell }: Props) {
  const [agent, setAgent] = useState(world.agents[0]?.id ?? "");
  const [tool, setTool] = useState(SHELL);
  const [line, setLine] = useState("git push");
  const [json, setJson] = useState('{"path": "notes/today.md"}');
  const [found, setFound] = useState<Trial | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const key = print(draft);
  const isShell = tool === SHELL;
  useEffect(() => {
    const given = isShell ? { script: line } : readArguments(json);
    if (given === null) {
      setFound(null);
      setProblem("Arguments are a JSON object, in braces.");
      return;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const body: Fields = {
        tool,
        arguments: given,
        ...(agent ? { agent } : {}),
        ...(draft ? { policy: draft as unknown as Json } : {}),
      };
      calls.test(world.id, body, stop.signal).then(
        (trial) => {
          setFound(trial);
          setProblem(null);
          tell(ruleIn(trial.ground), null);
        },
        (error: unknown) => {
          if (stop.signal.aborted) return;
          const text = problemText(error);
          const isOfRules =
            error instanceof Problem && !["tool", "arguments", "agent"].includes(String(error.facts["field"]));
          setFound(null);
          setProblem(isOfRules ? "The rules above cannot be read yet." : text);
          tell(null, isOfRules ? text : null);
        },
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [agent, tool, line, json, key]);
  return (
    <section class="box stack">
      <h2 class="section-title">Try it out{draft ? " with the rules above, before they are saved" : ""}</h2>
      <div class="pair">
        <label class="field">
          <span>Tool</span>
          <select value={tool} onChange={(event) => setTool(event.currentTarget.value)}>
            {[...new Set([SHELL, ...tools])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
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
      <label class="field">
        <span>{isShell ? "Command line" : "Arguments, as JSON"}</span>
        <input
          class="code"
          value={isShell ? line : json}
          spellcheck={false}
          onInput={(event) => (isShell ? setLine : setJson)(event.currentTarget.value)}
        />
      </label>
      <div role="status">
        {problem && <p class="bad-text lines">{reveal(problem)}</p>}
        {found && <Outcome found={found} />}
      </div>
    </section>
  );
}

function Outcome({ found }: { found: Trial }) {
  const parts = found.commands.filter((one) => one.command);
  return (
    <>
      <p>
        <strong class={`verdict tone-${tone(found.verdict)}`}>{found.verdict}</strong>
      </p>
      {parts.length > 1 && (
        <ul class="plain-list parts">
          {parts.map((one, at) => (
            <li key={at}>
              <span class={`ruling tone-${tone(one.verdict)}`}>{one.verdict}</span>{" "}
              <code>{callLine((one.command ?? null) as Json)}</code>
            </li>
          ))}
        </ul>
      )}
      <pre class="explanation">{reveal(found.explanation)}</pre>
    </>
  );
}

function tone(verdict: string): string {
  return verdict === "allow" ? "good" : verdict === "deny" ? "bad" : "warn";
}

function ruleIn(ground: Json): string | null {
  const rule = isFields(ground) ? ground["rule"] : undefined;
  return typeof rule === "string" ? rule : null;
}

function readArguments(text: string): Fields | null {
  try {
    const read = readWritten(text);
    return isFields(read) ? read : null;
  } catch {
    return null;
  }
}
