// Reads and changes the MCP servers of a world. A change is made for the servers as somebody saw them: what others changed
// meanwhile is not overwritten.

import { ask, path, Problem, read } from "../api/http";
import { isSame } from "../api/json";
import type { Fields, Json, Page } from "../api/types";

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

/** The servers of a world at one version of its settings. */
export interface Listed {
  servers: Server[];
  version: string | null;
}

export interface Written {
  mcpServers: { [name: string]: Json };
}

const GIVEN = ["command", "args", "env", "cwd", "url", "headers", "trusted", "disabled", "timeout_seconds"] as const;
const ATTEMPTS = 3;

export function serversPath(world: string, ...more: string[]): string {
  return path("worlds", world, "mcp-servers", ...more);
}

export async function list(world: string): Promise<Listed> {
  const servers: Server[] = [];
  let version: string | null | undefined;
  let after: string | undefined;
  do {
    const query = { limit: 1_000, after };
    const page = await read<Page<Server>>(serversPath(world), { query, exactly: true });
    servers.push(...page.value.data);
    version ??= page.version;
    after = page.value.next ?? undefined;
  } while (after !== undefined);
  return { servers, version: version ?? null };
}

/** Writes servers in place of those that somebody saw. Where only other settings changed since, that is no conflict. */
export async function write(world: string, seen: Listed, written: Written): Promise<void> {
  let now = seen;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const headers: Record<string, string> = now.version === null ? {} : { "if-match": now.version };
      await ask(serversPath(world), { method: "POST", body: written, headers });
      return;
    } catch (error) {
      const isOvertaken = error instanceof Problem && error.code === "version_conflict";
      if (!isOvertaken || attempt === ATTEMPTS) throw error;
      now = await list(world);
      const there = now;
      const isOther = (name: string) => !isSame(settings(seen, name), settings(there, name));
      const changed = Object.keys(written.mcpServers).filter(isOther);
      if (changed.length === 0) continue;
      throw new Problem(409, error.code, `Somebody else changed ${changed.join(", ")} meanwhile.`);
    }
  }
}

/** A server without how it is. */
function settings({ servers }: Listed, name: string): Json {
  const { health: _health, ...rest } = servers.find((server) => server.name === name) ?? { name: null };
  return rest as Fields;
}

/** What somebody else wrote there and the form has no field for: it stays. */
export function others(server: Server | null): Fields {
  const known = new Set<string>(["name", "health", ...GIVEN]);
  return Object.fromEntries(Object.entries(server ?? {}).filter(([name]) => !known.has(name))) as Fields;
}

/** What the server takes to have one as it is. Values that it does not show it keeps. */
export function bodyOf(server: Server): Written {
  const given = GIVEN.flatMap((name) => {
    const value = server[name];
    return value === undefined || value === null ? [] : [[name, value as Json] as const];
  });
  return { mcpServers: { [server.name]: { ...others(server), ...Object.fromEntries(given) } } };
}
