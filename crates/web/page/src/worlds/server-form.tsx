// Adds or changes an MCP server: a program or an address, what it is given, and whether somebody vouches for it. Also takes
// what other programs write down of their servers.

import { useState } from "preact/hooks";
import { ask, problemText } from "../api/http";
import type { Fields, Json } from "../api/types";
import { readWords, writeWords } from "./rules";
import { SavingProblem, useSaving } from "./saving";

export interface Server {
  name: string;
  command?: string | null;
  args?: string[];
  env?: { [name: string]: string };
  cwd?: string | null;
  url?: string | null;
  headers?: { [name: string]: string };
  trusted?: boolean;
  disabled?: boolean;
  timeout_seconds?: number | null;
  health?: {
    state: string;
    since: string;
    error?: string;
    next_attempt?: string;
    protocol_version?: string;
    server_name?: string;
    server_version?: string;
    tools?: number;
    last_error?: { error: string; at: string };
    authorize_at?: string;
    notes?: string[];
  } | null;
}

const GIVEN = ["command", "args", "env", "cwd", "url", "headers", "trusted", "disabled", "timeout_seconds"] as const;

/** What somebody else wrote there and the form has no field for: it stays. */
function others(server: Server | null): Fields {
  const known = new Set<string>(["name", "health", ...GIVEN]);
  return Object.fromEntries(Object.entries(server ?? {}).filter(([name]) => !known.has(name))) as Fields;
}

/** What the server takes to have one as it is. Values that it does not show it keeps. */
export function bodyOf(server: Server): { mcpServers: { [name: string]: Fields } } {
  const given = GIVEN.flatMap((name) => {
    const value = server[name];
    return value === undefined || value === null ? [] : [[name, value as Json] as const];
  });
  return { mcpServers: { [server.name]: { ...others(server), ...Object.fromEntries(given) } } };
}

export function ServerForm({ to, server, done }: { to: string; server: Server | null; done: () => void }) {
  const [isJson, setJson] = useState(false);
  const [json, setJsonText] = useState("");
  const [form, setForm] = useState(() => fieldsOf(server));
  const saving = useSaving();
  const put = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const isUrl = /^https?:\/\//.test(form.where.trim());
  const submit = (event: Event) => {
    event.preventDefault();
    const act = async () => ask(to, { method: "POST", body: isJson ? readJson(json) : written(form, server) });
    void saving.save(act, server ? "Saved" : "Added").then((worked) => worked && done());
  };
  return (
    <form class="box stack" onSubmit={submit}>
      {!server && (
        <div class="segments" role="group" aria-label="How the server is written">
          <button type="button" class="segment" aria-pressed={!isJson} onClick={() => setJson(false)}>
            Fields
          </button>
          <button type="button" class="segment" aria-pressed={isJson} onClick={() => setJson(true)}>
            JSON
          </button>
        </div>
      )}
      {isJson ? (
        <label class="field">
          <span>Servers, as other programs write them</span>
          <textarea
            class="code"
            rows={9}
            required
            spellcheck={false}
            value={json}
            placeholder={'{"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"]}}}'}
            onInput={(event) => setJsonText(event.currentTarget.value)}
          />
        </label>
      ) : (
        <>
          <div class="pair">
            <label class="field">
              <span>Name</span>
              <input
                value={form.name}
                required
                autofocus
                readOnly={server !== null}
                onInput={(event) => put({ name: event.currentTarget.value })}
              />
            </label>
            <label class="field">
              <span>Command line, or address</span>
              <input
                class="code"
                value={form.where}
                required
                spellcheck={false}
                placeholder="npx -y some-server, or https://…"
                onInput={(event) => put({ where: event.currentTarget.value })}
              />
            </label>
          </div>
          <label class="field">
            <span>{isUrl ? "Headers" : "Variables"}, one on each line</span>
            <textarea
              class="code"
              rows={2}
              spellcheck={false}
              value={form.given}
              placeholder={isUrl ? "Authorization=Bearer …" : "API_KEY=…"}
              onInput={(event) => put({ given: event.currentTarget.value })}
            />
            <small>
              Keys are put away and never shown again: <code>(set)</code> stands for what is there.
            </small>
          </label>
          <div class="pair">
            {!isUrl && (
              <label class="field">
                <span>Folder it runs in</span>
                <input
                  class="code"
                  value={form.cwd}
                  placeholder="the world's"
                  spellcheck={false}
                  onInput={(event) => put({ cwd: event.currentTarget.value })}
                />
              </label>
            )}
            <label class="field">
              <span>Longest call, in seconds</span>
              <input
                type="number"
                min={1}
                value={form.timeout}
                placeholder="as usual"
                onInput={(event) => put({ timeout: event.currentTarget.value })}
              />
            </label>
          </div>
          <label class="check">
            <input
              type="checkbox"
              checked={form.trusted}
              onChange={(event) => put({ trusted: event.currentTarget.checked })}
            />{" "}
            I vouch for it: what it says about its tools is believed
          </label>
        </>
      )}
      <p class="soft small-text">
        A server is a program of its own and runs without the sandbox. Add only what you trust to run.
      </p>
      <SavingProblem saving={saving} reload={done} />
      <div class="row end">
        <button type="button" class="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={saving.isBusy}>
          {server ? "Save" : "Add"}
        </button>
      </div>
    </form>
  );
}

function fieldsOf(server: Server | null) {
  const given = server?.url ? server.headers : server?.env;
  return {
    name: server?.name ?? "",
    where: server ? (server.url ?? writeWords([server.command ?? "", ...(server.args ?? [])])) : "",
    given: Object.entries(given ?? {})
      // A key that was put away has a name that the program made: nobody need read it.
      .map(([name, value]) => `${name}=${/^\$\{MCP_\w+\}$/.test(value) ? "(set)" : value}`)
      .join("\n"),
    cwd: server?.cwd ?? "",
    timeout: server?.timeout_seconds?.toString() ?? "",
    trusted: server?.trusted ?? false,
  };
}

function written(form: ReturnType<typeof fieldsOf>, server: Server | null) {
  const where = form.where.trim();
  const isUrl = /^https?:\/\//.test(where);
  const [command = "", ...args] = readWords(where);
  const pairs = form.given
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`“${line.trim()}” has no name and value with = between them.`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
    });
  const given = Object.fromEntries(pairs);
  const one: Fields = {
    ...others(server),
    ...(isUrl ? { url: where, headers: given } : { command, args, env: given }),
    ...(!isUrl && form.cwd.trim() ? { cwd: form.cwd.trim() } : {}),
    ...(form.timeout ? { timeout_seconds: Number(form.timeout) } : {}),
    trusted: form.trusted,
    disabled: server?.disabled ?? false,
  };
  return { mcpServers: { [form.name.trim()]: one } };
}

function readJson(text: string): Json {
  let read: Json;
  try {
    read = JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(`That is not JSON: ${problemText(error)}`);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read))
    throw new Error("Servers are an object, in braces.");
  // With or without what other programs put around them.
  return "mcpServers" in read ? { mcpServers: read["mcpServers"] ?? {} } : { mcpServers: read };
}
