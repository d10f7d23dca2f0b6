// Adds or changes an MCP server: a program or an address, what it is given, and whether somebody vouches for it. Also takes
// what other programs write down of their servers.

import { useState } from "preact/hooks";
import { problemText } from "../api/http";
import { isFields, isSame, print, readWritten } from "../api/json";
import type { Fields, Json } from "../api/types";
import { mayGo } from "../router";
import { useUnsaved } from "../state/unsaved";
import { MASK } from "../words";
import { readWords, writeWords } from "./rules";
import { SavingProblem, useSaving } from "./saving";
import { others, write, type Listed, type Server, type Written } from "./server-calls";

interface Props {
  world: string;
  /** The one that is changed; none for a new one. */
  server: Server | null;
  /** What somebody saw when they began. */
  seen: Listed;
  done: () => void;
}

export function ServerForm({ world, server, seen, done }: Props) {
  const [isJson, setJson] = useState(false);
  const [json, setJsonText] = useState("");
  const [begun] = useState(() => fieldsOf(server));
  const [form, setForm] = useState(begun);
  const saving = useSaving();
  useUnsaved(json.trim() !== "" || !isSame(form, begun));
  const leave = () => mayGo() && done();
  const put = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const isUrl = isAddress(form.where);
  const submit = (event: Event) => {
    event.preventDefault();
    const act = async () => {
      const body = isJson ? readJson(json) : written(form, server);
      if (!server) checkNew(body, seen);
      await write(world, seen, body);
    };
    void saving.save(act, server ? "Saved" : "Added").then((worked) => worked && done());
  };
  return (
    <form class="box" onSubmit={submit}>
      {/* What would be typed while it is saved would go with the form. */}
      <fieldset class="stack" disabled={saving.isBusy}>
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
        {server && print(server).includes(MASK) && (
          <p class="warn-text small-text">
            A secret in it is masked. It stays if you leave its line as it is; if you change that, write it again.
          </p>
        )}
        <SavingProblem saving={saving} reload={done} />
        <div class="row end">
          <button type="button" class="button" onClick={leave}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={saving.isBusy}>
            {server ? "Save" : "Add"}
          </button>
        </div>
      </fieldset>
    </form>
  );
}

const isAddress = (where: string) => /^https?:\/\//.test(where.trim());

/** A new one takes the place of no other. */
function checkNew(body: Written, { servers }: Listed): void {
  const taken = servers.find((server) => Object.hasOwn(body.mcpServers, server.name));
  if (taken) throw new Error(`There is a server ${taken.name} already. Change that one, or take another name.`);
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

function written(form: ReturnType<typeof fieldsOf>, server: Server | null): Written {
  const where = form.where.trim();
  const isUrl = isAddress(where);
  // What nobody touched is sent as it was, however it would be read again.
  const isTouched = form.where !== fieldsOf(server).where;
  const words = isTouched || !server ? readWords(where) : [server.command ?? "", ...(server.args ?? [])];
  const [command = "", ...args] = words;
  const pairs = form.given
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`“${line.trim()}” has no name and value with = between them.`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
    });
  const twice = pairs.find(([name], at) => pairs.findIndex(([other]) => other === name) < at);
  if (twice) throw new Error(`${twice[0]} stands there twice.`);
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

function readJson(text: string): Written {
  let read: Json;
  try {
    read = readWritten(text);
  } catch (error) {
    throw new Error(`That is not JSON: ${problemText(error)}`);
  }
  if (!isFields(read)) throw new Error("Servers are an object, in braces.");
  // With or without what other programs put around them.
  const servers = "mcpServers" in read ? (read["mcpServers"] ?? {}) : read;
  if (!isFields(servers)) throw new Error("Servers are an object, in braces.");
  return { mcpServers: servers };
}
