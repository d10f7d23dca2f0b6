// Who did, asked for and decided what, by which rule and with which result.

import { useEffect, useRef, useState } from "preact/hooks";
import { ask, path, problemText } from "../api/http";
import { print } from "../api/json";
import type { Fields, Json, Page } from "../api/types";
import { href } from "../router";
import { findChat, nameOfWorld, wantChats, worlds } from "../state/worlds";
import { TopBar } from "../shell/top-bar";
import { Failure, Loading } from "../ui/parts";
import { callLine, fullTime, reveal } from "../words";

interface Entry {
  seq: number;
  at: string;
  kind: string;
  world_id: string;
  chat_id?: string | null;
  agent_id?: string | null;
  tool?: string | null;
  actor: { kind?: string; name?: string };
  rule?: string | null;
  data: Fields;
}

const KINDS = ["called", "requested", "decided", "started", "finished", "changed"];
const PAGE = 100;
/** Larger than any entry's number. */
const END = Number.MAX_SAFE_INTEGER;

export function AuditPage() {
  const [filter, setFilter] = useState({ world: "", kind: "", agent: "", tool: "", actor: "" });
  const [entries, setEntries] = useState<Entry[] | null>(null);
  const [hasMore, setMore] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const put = (change: Partial<typeof filter>) => setFilter({ ...filter, ...change });
  const key = JSON.stringify(filter);

  const load = async (before: number, known: Entry[], signal: AbortSignal) => {
    try {
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value.trim() !== ""));
      const page: Page<Entry> = await ask(path("audit"), {
        query: { ...given, limit: PAGE, before },
        exactly: true,
        signal,
      });
      const found = [...page.data].sort((a, b) => b.seq - a.seq);
      setEntries([...known, ...found]);
      setMore(found.length >= PAGE);
      setProblem(null);
    } catch (error) {
      if (!signal.aborted) setProblem(problemText(error));
    }
  };
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => void load(END, [], stop.signal), 200);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);

  const agents = knownAgents(filter.world);
  const tools = useTools(entries);
  return (
    <>
      <TopBar title="Audit" sub="Who did what. It is never edited." />
      <div class="view-scroll">
        <div class="column wide">
          <div class="filters">
            <label class="field">
              <span>World</span>
              <select value={filter.world} onChange={(event) => put({ world: event.currentTarget.value })}>
                <option value="">All</option>
                {worlds.value?.map((world) => (
                  <option key={world.id} value={world.id}>
                    {nameOfWorld(world.id)}
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>What</span>
              <select value={filter.kind} onChange={(event) => put({ kind: event.currentTarget.value })}>
                <option value="">Everything</option>
                {KINDS.map((kind) => (
                  <option key={kind}>{kind}</option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>Agent</span>
              <input
                list="audit-agents"
                value={filter.agent}
                onInput={(event) => put({ agent: event.currentTarget.value })}
              />
              <Known id="audit-agents" values={agents} />
            </label>
            <label class="field">
              <span>Tool</span>
              <input
                list="audit-tools"
                value={filter.tool}
                onInput={(event) => put({ tool: event.currentTarget.value })}
              />
              <Known id="audit-tools" values={tools} />
            </label>
            <label class="field">
              <span>Person</span>
              <input value={filter.actor} onInput={(event) => put({ actor: event.currentTarget.value })} />
            </label>
          </div>
          {problem && <Failure text={problem} />}
          {!entries && !problem && <Loading />}
          {entries && !problem && (
            <div class="table-frame" tabIndex={0} role="region" aria-label="Audit entries">
              <table class="table audit">
                <thead>
                  <tr>
                    <th>When</th>
                    <th>What</th>
                    <th>Who</th>
                    <th>About</th>
                    <th>Rule</th>
                  </tr>
                </thead>
                <tbody>
                  {entries.map((entry) => (
                    <Row key={entry.seq} entry={entry} />
                  ))}
                </tbody>
              </table>
              {entries.length === 0 && <p class="soft pad">Nothing fits.</p>}
            </div>
          )}
          {hasMore && entries && (
            <button
              type="button"
              class="button"
              onClick={() => void load(entries[entries.length - 1]?.seq ?? END, entries, new AbortController().signal)}
            >
              Show older ones
            </button>
          )}
        </div>
      </div>
    </>
  );
}

function Row({ entry }: { entry: Entry }) {
  const who = entry.actor.name ?? (entry.actor.kind === "agent" ? entry.agent_id : entry.actor.kind) ?? "";
  return (
    <tr>
      <td class="nowrap">
        <time dateTime={entry.at}>{fullTime(entry.at)}</time>
      </td>
      <td>
        <span class={`tag kind-${entry.kind}`}>{entry.kind}</span>
      </td>
      <td class="nowrap">{who}</td>
      <td class="about">
        <Place entry={entry} />
        {entry.tool && <strong>{entry.tool} </strong>}
        <code>{about(entry)}</code>
        <details>
          <summary class="soft small-text">All of it</summary>
          <pre class="output">{reveal(print(entry.data, 2))}</pre>
        </details>
      </td>
      <td>{entry.rule}</td>
    </tr>
  );
}

/** Where it was: the world and the chat, by their names where they are still there. */
function Place({ entry }: { entry: Entry }) {
  const { world_id: world, chat_id: chat } = entry;
  useEffect(() => {
    if (chat) wantChats(world);
  }, [world, chat]);
  if (!world) return null;
  return (
    <p class="small-text soft">
      <a href={href({ view: "world", world })}>{nameOfWorld(world)}</a>
      {chat && (
        <>
          {" · "}
          <a href={href({ view: "chat", world, chat })}>{findChat(world, chat)?.title ?? "chat"}</a>
        </>
      )}
    </p>
  );
}

function Known({ id, values }: { id: string; values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  );
}

/** The worlds that are looked at: the chosen one, or all. */
function looked(world: string) {
  return (worlds.value ?? []).filter((one) => !world || one.id === world);
}

function knownAgents(world: string): string[] {
  return [...new Set(looked(world).flatMap((one) => one.agents.map((agent) => agent.id)))].sort();
}

/** The tools that were seen here: what a world has is not asked for, as that would start its servers. */
function useTools(entries: readonly Entry[] | null): string[] {
  const seen = useRef(new Set<string>());
  for (const entry of entries ?? []) if (entry.tool) seen.current.add(entry.tool);
  return [...seen.current].sort();
}

function about(entry: Entry): string {
  const data = entry.data;
  if (data["arguments"]) return callLine(data["arguments"]);
  const words: (Json | undefined)[] = [
    data["decision"],
    data["scope"],
    data["state"],
    data["outcome"],
    data["reason"],
    data["question"],
    data["entity"],
    data["action"],
    data["id"],
  ];
  return words.filter((word) => typeof word === "string").join(" ");
}
