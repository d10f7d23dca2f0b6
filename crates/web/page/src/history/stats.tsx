// How tools and models are used, in all worlds or one.

import { useEffect, useState } from "preact/hooks";
import { all, path, problemText } from "../api/http";
import { nameOfWorld, worlds } from "../state/worlds";
import { TopBar } from "../shell/top-bar";
import { Empty, Failure, Loading } from "../ui/parts";
import { duration } from "../words";
import { Bars, type Bar } from "./bars";

interface ToolUse {
  tool: string;
  agent_id: string;
  calls: number;
  outcomes: { [state: string]: number };
  approvals: { asked: number; approved: number; denied: number; expired: number };
  mean_ms?: number | null;
  max_ms?: number | null;
}

interface ModelUse {
  agent_id?: string | null;
  model_calls: number;
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
}

interface Statistics {
  world_id: string;
  tools: ToolUse[];
  usage: ModelUse[];
}

export function StatsPage() {
  const [world, setWorld] = useState("");
  const [found, setFound] = useState<Statistics[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const load = () =>
    all<Statistics>(path("stats"), world ? { world } : {}).then(setFound, (error: unknown) =>
      setProblem(problemText(error)),
    );
  useEffect(() => {
    setProblem(null);
    void load();
  }, [world]);
  const tools = (found ?? []).flatMap((one) => one.tools.map((use) => ({ ...use, world: one.world_id })));
  const usage = (found ?? []).flatMap((one) => one.usage.map((use) => ({ ...use, world: one.world_id })));
  const isMany = (found?.length ?? 0) > 1;
  const place = (id: string) => (isMany ? ` (${nameOfWorld(id)})` : "");
  const sum = (pick: (use: (typeof tools)[number]) => number) => tools.reduce((total, use) => total + pick(use), 0);
  const asked = sum((use) => use.approvals.asked);
  return (
    <>
      <TopBar title="Statistics" />
      <div class="view-scroll">
        <div class="column">
          <div class="filters">
            <label class="field">
              <span>World</span>
              <select value={world} onChange={(event) => setWorld(event.currentTarget.value)}>
                <option value="">All</option>
                {worlds.value?.map((one) => (
                  <option key={one.id} value={one.id}>
                    {nameOfWorld(one.id)}
                  </option>
                ))}
              </select>
            </label>
          </div>
          {problem && <Failure text={problem} again={() => void load()} />}
          {!found && !problem && <Loading />}
          {found && tools.length === 0 && usage.length === 0 && <Empty icon="chart" title="Nothing was used yet" />}
          {found && (tools.length > 0 || usage.length > 0) && (
            <div class="stack">
              <ul class="figures">
                <Figure value={sum((use) => use.calls)} name="tool calls" />
                <Figure value={asked} name="requests" />
                <Figure value={sum((use) => use.approvals.denied)} name="denied" />
                <Figure value={usage.reduce((total, use) => total + use.model_calls, 0)} name="model calls" />
                <Figure value={usage.reduce((total, use) => total + use.total_tokens, 0)} name="tokens" />
              </ul>
              <Bars
                title="Calls of tools, by outcome"
                unit="calls"
                legend={["completed", "failed", "denied", "other"]}
                bars={tools.map((use) => toolBar(use, place(use.world)))}
              />
              <Bars
                title="Tokens, by agent"
                unit="tokens"
                legend={["input", "output"]}
                bars={usage.map((use) => ({
                  label: `${use.agent_id ?? "titles"}${place(use.world)}`,
                  parts: [use.input_tokens, use.output_tokens],
                }))}
              />
              <Times tools={tools} place={place} />
            </div>
          )}
        </div>
      </div>
    </>
  );
}

function Figure({ value, name }: { value: number; name: string }) {
  return (
    <li class="box figure">
      <strong>{value.toLocaleString("en")}</strong> <span class="soft">{name}</span>
    </li>
  );
}

function toolBar(use: ToolUse, place: string): Bar {
  const of = (state: string) => use.outcomes[state] ?? 0;
  const known = of("completed") + of("failed") + of("denied");
  return {
    label: `${use.tool} · ${use.agent_id}${place}`,
    parts: [of("completed"), of("failed"), of("denied"), Math.max(0, use.calls - known)],
  };
}

function Times({ tools, place }: { tools: (ToolUse & { world: string })[]; place: (id: string) => string }) {
  if (tools.length === 0) return null;
  return (
    <section>
      <h2 class="section-title">Times and answers</h2>
      <div class="table-frame" tabIndex={0} role="region" aria-label="Times and answers">
        <table class="table">
          <thead>
            <tr>
              <th>Tool</th>
              <th>Agent</th>
              <th class="number">Calls</th>
              <th class="number">Asked</th>
              <th class="number">Approved</th>
              <th class="number">Denied</th>
              <th class="number">Mean</th>
              <th class="number">Longest</th>
            </tr>
          </thead>
          <tbody>
            {tools.map((use) => (
              <tr key={use.world + use.tool + use.agent_id}>
                <td>{use.tool}</td>
                <td>
                  {use.agent_id}
                  {place(use.world)}
                </td>
                <td class="number">{use.calls}</td>
                <td class="number">{use.approvals.asked}</td>
                <td class="number">{use.approvals.approved}</td>
                <td class="number">{use.approvals.denied}</td>
                <td class="number">{typeof use.mean_ms === "number" ? duration(use.mean_ms) : ""}</td>
                <td class="number">{typeof use.max_ms === "number" ? duration(use.max_ms) : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
