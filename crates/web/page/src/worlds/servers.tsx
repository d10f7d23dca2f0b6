// The MCP servers that a world's tools come from: how they are, starting one again, adding and removing them.

import { useEffect, useState } from "preact/hooks";
import { all, ask, path, problemText } from "../api/http";
import type { Fields, World } from "../api/types";
import { mayManage } from "../state/session";
import { attempt } from "../state/toasts";
import { confirm } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { Menu } from "../ui/menu";
import { Failure, Loading } from "../ui/parts";
import { reveal } from "../words";
import { SavingProblem, useSaving } from "./saving";

interface Server {
  name: string;
  command?: string | null;
  args?: string[];
  url?: string | null;
  trusted?: boolean;
  disabled?: boolean;
  health?: { state: string; error?: string; notes?: string[]; tools?: number };
}

export function Servers({ world }: { world: World }) {
  const [servers, setServers] = useState<Server[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isAdding, setAdding] = useState(false);
  const to = path("worlds", world.id, "mcp-servers");
  const load = () =>
    all<Server>(to).then(
      (found) => {
        setServers(found);
        setProblem(null);
      },
      (error: unknown) => setProblem(problemText(error)),
    );
  useEffect(() => {
    void load();
    // Health is not told of in events.
    const timer = setInterval(() => {
      if (!document.hidden) void load();
    }, 4_000);
    return () => clearInterval(timer);
  }, [world.id]);
  const restart = (server: Server) =>
    attempt(async () => {
      await ask(`${to}/${encodeURIComponent(server.name)}/restart`, { method: "POST" });
      await load();
    });
  const remove = async (server: Server) => {
    if (!(await confirm(`Remove ${server.name}?`, "Agents lose the tools that come from it.", "Remove"))) return;
    await attempt(async () => {
      await ask(`${to}/${encodeURIComponent(server.name)}`, { method: "DELETE" });
      await load();
    });
  };
  if (problem && !servers) return <Failure text={problem} again={() => void load()} />;
  if (!servers) return <Loading />;
  return (
    <div class="stack">
      {servers.length === 0 && (
        <p class="soft">No MCP servers. Tools of such servers are offered to agents beside the built-in ones.</p>
      )}
      <ul class="boxes">
        {servers.map((server) => (
          <li key={server.name} class="box row">
            <div class="grow">
              <h2 class="section-title">
                {server.name} <Health server={server} />
                {server.trusted && <span class="tag">trusted</span>}
              </h2>
              <p class="small-text">
                <code>{server.url ?? [server.command, ...(server.args ?? [])].join(" ")}</code>
              </p>
              {server.health?.error && <p class="bad-text small-text">{reveal(server.health.error)}</p>}
              {server.health?.notes?.map((note) => (
                <p key={note} class="soft small-text">
                  {reveal(note)}
                </p>
              ))}
            </div>
            {mayManage.value && (
              <>
                <button type="button" class="button small" onClick={() => restart(server)}>
                  <Icon name="retry" /> Restart
                </button>
                <Menu
                  label={`Menu of ${server.name}`}
                  items={[{ label: "Remove", icon: "trash", isDangerous: true, act: () => void remove(server) }]}
                />
              </>
            )}
          </li>
        ))}
      </ul>
      {mayManage.value &&
        (isAdding ? (
          <Add
            to={to}
            done={() => {
              setAdding(false);
              void load();
            }}
          />
        ) : (
          <div>
            <button type="button" class="button" onClick={() => setAdding(true)}>
              <Icon name="plus" /> Add a server
            </button>
          </div>
        ))}
    </div>
  );
}

function Health({ server }: { server: Server }) {
  const state = server.disabled ? "disabled" : (server.health?.state ?? "unknown");
  const tone =
    state === "ready" || state === "running" || state === "connected" ? "good" : state === "failed" ? "bad" : "quiet";
  return <span class={`tag tone-${tone}`}>{state}</span>;
}

function Add({ to, done }: { to: string; done: () => void }) {
  const [name, setName] = useState("");
  const [where, setWhere] = useState("");
  const saving = useSaving();
  const submit = (event: Event) => {
    event.preventDefault();
    const isUrl = /^https?:\/\//.test(where.trim());
    const [command = "", ...args] =
      where
        .trim()
        .match(/"[^"]*"|\S+/g)
        ?.map((part) => part.replace(/^"|"$/g, "")) ?? [];
    const body: Fields = isUrl ? { name: name.trim(), url: where.trim() } : { name: name.trim(), command, args };
    void saving.save(() => ask(to, { method: "POST", body }), "Added").then((worked) => worked && done());
  };
  return (
    <form class="box stack" onSubmit={submit}>
      <div class="pair">
        <label class="field">
          <span>Name</span>
          <input value={name} required autofocus onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Command line, or address</span>
          <input
            class="code"
            value={where}
            required
            placeholder="npx -y some-server, or https://…"
            onInput={(event) => setWhere(event.currentTarget.value)}
          />
        </label>
      </div>
      <p class="soft small-text">
        A server is a program of its own and runs without the sandbox. Add only what you trust to run.
      </p>
      <SavingProblem saving={saving} reload={done} />
      <div class="row end">
        <button type="button" class="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={saving.isBusy}>
          Add
        </button>
      </div>
    </form>
  );
}
