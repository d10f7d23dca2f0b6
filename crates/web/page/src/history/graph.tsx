// Who called whom: people, agents and tools as a picture, with how often. The same stands below it as a table.

import type { Agent, Call, Message, News } from "../api/types";
import { addressed } from "../mentions";
import { hue } from "../words";
import { REQUEST } from "./fold";

interface Edge {
  from: string;
  to: string;
  count: number;
}

interface Node {
  id: string;
  kind: "person" | "agent" | "tool";
  x: number;
  y: number;
}

/** Counts messages between people and agents, and calls of tools. */
export function edges(events: readonly News[], agents: readonly Agent[], main: string | null): Edge[] {
  const counts = new Map<string, Edge>();
  const add = (from: string, to: string) => {
    const key = `${from}\n${to}`;
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { from, to, count: 1 });
  };
  const calls = new Set<string>();
  const senders = new Map<string, string>();
  for (const news of events) {
    if (news.type === "message") {
      const message = news.data as Message;
      if (message.role === "tool" || message.role === "system") continue;
      if (message.tool_calls?.some((call) => call.function.name === REQUEST)) continue;
      const from = message.role === "user" ? "human" : message.sender;
      senders.set(message.id, from);
      const named = addressed(message.content, agents);
      // Whoever names nobody speaks to the main agent, or to all of them.
      const everybody = main === null ? agents.map((agent) => agent.id) : [main];
      const to = named.length === 0 && from === "human" ? everybody : named;
      for (const agent of to) if (agent !== from) add(from, agent);
      // An agent that answers a person speaks to that person.
      if (to.length === 0 && message.reply_to && message.content && from !== "human") {
        const asked = senders.get(message.reply_to);
        if (asked && asked !== from) add(from, asked);
      }
    } else if (news.type === "tool" && !("phase" in news.data)) {
      const call = news.data as Call;
      if (calls.has(call.id)) continue;
      calls.add(call.id);
      add(call.agent_id, `⚙ ${call.name}`);
    }
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

const WIDTH = 760;
const ROW = 64;

interface Props {
  events: readonly News[];
  agents: readonly Agent[];
  main: string | null;
}

export function Graph({ events, agents, main }: Props) {
  const all = edges(events, agents, main);
  if (all.length === 0) return <p class="soft pad">Nobody has called anybody yet.</p>;
  const nodes = place(all);
  const find = new Map(nodes.map((node) => [node.id, node]));
  const height = Math.max(...nodes.map((node) => node.y)) + ROW / 2 + 10;
  const most = Math.max(...all.map((edge) => edge.count));
  return (
    <>
      <figure class="graph" tabIndex={0}>
        <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label="Who called whom, as in the table below">
          <defs>
            <marker
              id="head"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="9"
              markerHeight="9"
              markerUnits="userSpaceOnUse"
              orient="auto-start-reverse"
            >
              <path d="M0 0L8 4L0 8z" class="arrow" />
            </marker>
          </defs>
          {all.map((edge) => {
            const from = find.get(edge.from);
            const to = find.get(edge.to);
            return from && to ? <Line key={edge.from + edge.to} edge={edge} from={from} to={to} most={most} /> : null;
          })}
          {nodes.map((node) => (
            <g key={node.id} class={`node node-${node.kind} hue-${hue(node.id.toLowerCase())}`}>
              <rect x={node.x - 70} y={node.y - 17} width="140" height="34" rx="17" />
              <text x={node.x} y={node.y + 5} text-anchor="middle">
                {short(node.id)}
              </text>
            </g>
          ))}
        </svg>
      </figure>
      <table class="table">
        <thead>
          <tr>
            <th>From</th>
            <th>To</th>
            <th class="number">Times</th>
          </tr>
        </thead>
        <tbody>
          {all.map((edge) => (
            <tr key={edge.from + edge.to}>
              <td>{edge.from}</td>
              <td>{edge.to}</td>
              <td class="number">{edge.count}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function short(name: string): string {
  return name.length > 17 ? `${name.slice(0, 16)}…` : name;
}

function place(all: Edge[]): Node[] {
  const ids = [...new Set(all.flatMap((edge) => [edge.from, edge.to]))];
  const kind = (id: string): Node["kind"] => (id === "human" ? "person" : id.startsWith("⚙") ? "tool" : "agent");
  const columns = { person: 85, agent: WIDTH / 2, tool: WIDTH - 85 };
  const groups = {
    person: ids.filter((id) => kind(id) === "person"),
    agent: ids.filter((id) => kind(id) === "agent"),
    tool: ids.filter((id) => kind(id) === "tool"),
  };
  const rows = Math.max(...Object.values(groups).map((group) => group.length));
  return Object.entries(groups).flatMap(([name, group]) =>
    group.map((id, at) => ({
      id,
      kind: name as Node["kind"],
      x: columns[name as Node["kind"]],
      y: ROW / 2 + 12 + ((rows - group.length) / 2 + at) * ROW,
    })),
  );
}

function Line({ edge, from, to, most }: { edge: Edge; from: Node; to: Node; most: number }) {
  const width = 1 + (edge.count / most) * 3;
  const isSame = from.x === to.x;
  const side = from.x < to.x ? 1 : -1;
  // There and back are two lines: one bends up, the other down.
  const bend = side * 16;
  const start = { x: isSame ? from.x + 70 : from.x + side * 70, y: from.y };
  const end = { x: isSame ? to.x + 70 : to.x - side * 70, y: to.y };
  const middle = isSame
    ? { x: from.x + 130, y: (from.y + to.y) / 2 }
    : { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 - bend };
  return (
    <g class="edge">
      <path
        d={`M${start.x} ${start.y} Q${middle.x} ${middle.y} ${end.x} ${end.y}`}
        stroke-width={width}
        marker-end="url(#head)"
      />
      <text x={(start.x + 2 * middle.x + end.x) / 4} y={(start.y + 2 * middle.y + end.y) / 4 - 4} text-anchor="middle">
        {edge.count}
      </text>
    </g>
  );
}
