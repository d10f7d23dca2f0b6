// Who called whom: people, agents and tools as a picture, with how often. The same stands below it as a table.

import type { Agent, Call, Message, News } from "../api/types";
import { addressed } from "../mentions";
import { hue } from "../words";
import { REQUEST } from "./fold";
import { picture, type Edge, type Node } from "./layout";

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

interface Props {
  events: readonly News[];
  agents: readonly Agent[];
  main: string | null;
}

export function Graph({ events, agents, main }: Props) {
  const all = edges(events, agents, main);
  if (all.length === 0) return <p class="soft pad">Nobody has called anybody yet.</p>;
  const { nodes, arrows, width, height } = picture(all);
  const most = Math.max(...all.map((edge) => edge.count));
  return (
    <>
      <figure class="graph" tabIndex={0}>
        <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label="Who called whom, as in the table below">
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
          {arrows.map(({ edge, path: [start, bend, end] }) => (
            <path
              key={edge.from + edge.to}
              class="edge"
              d={`M${start.x} ${start.y} Q${bend.x} ${bend.y} ${end.x} ${end.y}`}
              stroke-width={1 + (edge.count / most) * 3}
              marker-end="url(#head)"
            />
          ))}
          {nodes.map((node) => (
            <Name key={node.id} node={node} />
          ))}
          {arrows.map(({ edge, label }) => (
            <text key={edge.from + edge.to} class="edge-count" x={label.x} y={label.y + 4} text-anchor="middle">
              {edge.count}
            </text>
          ))}
        </svg>
      </figure>
      <table class="table">
        <caption class="off-screen">Who called whom, and how often</caption>
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

function Name({ node }: { node: Node }) {
  const { id, kind, lines, x, y, width, height } = node;
  const first = y + 5 - (lines.length - 1) * 8;
  return (
    <g class={`node node-${kind} hue-${hue(id.toLowerCase())}`}>
      <title>{id}</title>
      <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx="16" />
      {lines.map((line, at) => (
        <text key={at} x={x} y={first + at * 16} text-anchor="middle">
          {line}
        </text>
      ))}
    </g>
  );
}
