// The MCP servers that a world's tools come from: how they are, what they give, starting one again, adding, changing and
// removing them.

import { useEffect, useState } from "preact/hooks";
import { worlds, type Tool } from "../api/calls";
import { ask, problemText } from "../api/http";
import type { World } from "../api/types";
import { mayGo } from "../router";
import { mayManage } from "../state/session";
import { attempt, tell } from "../state/toasts";
import { confirm } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { Menu } from "../ui/menu";
import { now, second } from "../ui/now";
import { Failure, Loading } from "../ui/parts";
import { age, duration, fullTime, plural, reveal, word } from "../words";
import { bodyOf, list, serversPath, write, type Listed, type Server } from "./server-calls";
import { ServerForm } from "./server-form";

/** Health is not told of in events. */
const EVERY = 3_000;

interface Editing {
  /** None for a new one. */
  server: Server | null;
  seen: Listed;
}

export function Servers({ world }: { world: World }) {
  const [listed, setListed] = useState<Listed | null>(null);
  const [tools, setTools] = useState<Tool[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  /** What is changed, or a new one, and what was seen when that began. */
  const [editing, setEditing] = useState<Editing | null>(null);
  const servers = listed?.servers ?? null;
  const load = () =>
    list(world.id).then(
      (found) => {
        setListed(found);
        setProblem(null);
      },
      (error: unknown) => setProblem(problemText(error)),
    );
  useEffect(() => {
    void load();
    const timer = setInterval(() => {
      if (!document.hidden) void load();
    }, EVERY);
    return () => clearInterval(timer);
  }, [world.id]);
  const ready = servers?.map((one) => `${one.name} ${one.health?.state} ${one.health?.tools}`).join("\n");
  useEffect(() => {
    if (servers && servers.length > 0) worlds.tools(world.id).then(setTools, () => {});
  }, [ready]);
  const restart = (server: Server) =>
    attempt(async () => {
      await ask(serversPath(world.id, server.name, "restart"), { method: "POST" });
      await load();
    });
  const switchOn = (server: Server, disabled: boolean) =>
    attempt(async () => {
      if (listed) await write(world.id, listed, bodyOf({ ...server, disabled }));
      await load();
      tell(`${server.name} is ${disabled ? "off" : "on"}`, "good");
    });
  const remove = async (server: Server) => {
    if (!(await confirm(`Remove ${server.name}?`, "Agents lose the tools that come from it.", "Remove"))) return;
    await attempt(async () => {
      await ask(serversPath(world.id, server.name), { method: "DELETE" });
      await load();
    });
  };
  const done = () => {
    setEditing(null);
    void load();
  };
  const edit = (server: Server | null) => {
    if (listed && mayGo()) setEditing({ server, seen: listed });
  };
  if (problem && !servers) return <Failure text={problem} again={() => void load()} />;
  if (!servers) return <Loading />;
  const form = editing && (
    <ServerForm
      key={editing.server?.name ?? ""}
      world={world.id}
      server={editing.server}
      seen={editing.seen}
      done={done}
    />
  );
  // One that was removed by somebody else meanwhile is still being written, in its place.
  const changed = editing?.server;
  const isGone = changed && !servers.some((server) => server.name === changed.name);
  const shown = isGone ? [...servers, changed] : servers;
  return (
    <div class="stack">
      {servers.length === 0 && editing === null && (
        <p class="soft">No MCP servers. Tools of such servers are offered to agents beside the built-in ones.</p>
      )}
      <ul class="boxes">
        {shown.map((server) =>
          changed?.name === server.name ? (
            <li key={server.name}>{form}</li>
          ) : (
            <li key={server.name} class="box server">
              <div class="row server-head">
                <h2 class="grow">
                  {server.name} <Health server={server} />
                  {server.trusted && <span class="tag">trusted</span>}
                </h2>
                {mayManage.value && (
                  <>
                    {!server.disabled && (
                      <button type="button" class="button small" onClick={() => restart(server)}>
                        <Icon name="retry" /> Restart
                      </button>
                    )}
                    <Menu
                      label={`Menu of ${server.name}`}
                      items={[
                        { label: "Change", icon: "edit", act: () => edit(server) },
                        {
                          label: server.disabled ? "Switch on" : "Switch off",
                          icon: server.disabled ? "check" : "stop",
                          act: () => void switchOn(server, !server.disabled),
                        },
                        { label: "Remove", icon: "trash", isDangerous: true, act: () => void remove(server) },
                      ]}
                    />
                  </>
                )}
              </div>
              <p class="small-text server-place">
                <code>{server.url ?? [server.command ?? "", ...(server.args ?? [])].map(word).join(" ")}</code>
              </p>
              <Condition server={server} />
              <Given tools={tools.filter((tool) => tool.source_name === server.name)} />
            </li>
          ),
        )}
      </ul>
      {mayManage.value &&
        (editing && !changed ? (
          form
        ) : (
          <div>
            <button type="button" class="button" onClick={() => edit(null)}>
              <Icon name="plus" /> Add a server
            </button>
          </div>
        ))}
    </div>
  );
}

function Health({ server }: { server: Server }) {
  const state = server.disabled ? "off" : (server.health?.state ?? "not started");
  const tone = state === "ready" ? "good" : state === "failed" ? "bad" : state === "starting" ? "warn" : "quiet";
  return (
    <span class={`tag state-tag tone-${tone}`} role="status">
      {state}
    </span>
  );
}

/** How it is, since when, and what it says of itself. */
function Condition({ server }: { server: Server }) {
  const health = server.health;
  if (!health || server.disabled) return null;
  const next = health.next_attempt ? Date.parse(health.next_attempt) - second.value : null;
  const own = [health.server_name, health.server_version].filter(Boolean).join(" ");
  const since = age(health.since, now.value);
  return (
    <>
      <p class="soft small-text">
        {[
          own && reveal(own),
          health.protocol_version && `protocol ${health.protocol_version}`,
          since && `${health.state} ${since === "now" ? "just now" : `for ${since}`}`,
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {health.error && <p class="bad-text small-text lines">{reveal(health.error)}</p>}
      {health.state === "failed" && (
        <p class="soft small-text">
          {next === null
            ? "It is not tried again by itself: change it, or restart it."
            : `It is tried again ${next > 1_000 ? `in ${duration(next)}` : "now"}.`}
        </p>
      )}
      {health.last_error && health.last_error.error !== health.error && (
        <p class="soft small-text lines">
          Went wrong {fullTime(health.last_error.at)}: {reveal(health.last_error.error)}
        </p>
      )}
      {health.authorize_at && /^https?:\/\//.test(health.authorize_at) && (
        <p>
          <a class="button small primary" href={health.authorize_at} target="_blank" rel="noopener noreferrer">
            Sign in to {server.name}
          </a>
        </p>
      )}
      {health.notes?.map((note) => (
        <p key={note} class="soft small-text">
          {reveal(note)}
        </p>
      ))}
    </>
  );
}

function Given({ tools }: { tools: Tool[] }) {
  if (tools.length === 0) return null;
  return (
    <details class="server-tools">
      <summary class="small-text">{plural(tools.length, "tool")}</summary>
      <ul class="plain-list">
        {tools.map((tool) => (
          <li key={tool.name}>
            <code>{tool.name}</code>
            {tool.read_only && <span class="tag">reads</span>}
            {tool.approval.required && <span class="tag">asks</span>}{" "}
            <span class="soft">{reveal(tool.description)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
