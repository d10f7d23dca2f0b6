// Looking back at a world: what happened in order, and who spoke to whom.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, path, problemText } from "../api/http";
import type { News, Page } from "../api/types";
import { listen } from "../state/news";
import { chats, wantChats, worldById } from "../state/worlds";
import { TopBar } from "../shell/top-bar";
import { Failure, Loading } from "../ui/parts";
import { Tabs } from "../ui/tabs";
import { Graph } from "./graph";
import { Timeline } from "./timeline";

const TABS = ["Timeline", "Who called whom"] as const;
const KINDS = ["message", "tool", "approval", "stream", "system", "crud"] as const;
const FIRST = ["message", "tool", "approval", "system", "crud"];
const PAGE = 1_000;
/** Events that are kept for looking at. */
const MOST = 20_000;

export function HistoryPage({ world: id }: { world: string }) {
  const [tab, setTab] = useState<(typeof TABS)[number]>("Timeline");
  const [kinds, setKinds] = useState<ReadonlySet<string>>(new Set(FIRST));
  const [chat, setChat] = useState("");
  const [agent, setAgent] = useState("");
  const [events, setEvents] = useState<News[] | null>(null);
  const [isWhole, setWhole] = useState(true);
  const [problem, setProblem] = useState<string | null>(null);
  const world = worldById.value.get(id);
  useEffect(() => wantChats(id), [id]);

  useEffect(() => {
    let isCurrent = true;
    const heard: News[] = [];
    const stop = listen((news) => {
      if (news.world_id !== id || news.seq === undefined) return;
      heard.push(news);
      setEvents((known) => (known ? [...known, news] : known));
    });
    const load = async () => {
      const found: News[] = [];
      let after: string | undefined;
      do {
        const page: Page<News> = await ask(path("worlds", id, "events"), {
          query: { limit: PAGE, after, types: "message,tool,approval,stream,system,crud" },
        });
        found.push(...page.data);
        after = page.next ?? undefined;
      } while (after !== undefined && found.length < MOST && isCurrent);
      if (!isCurrent) return;
      setWhole(after === undefined);
      const last = found[found.length - 1]?.seq ?? 0;
      setEvents([...found, ...heard.filter((news) => (news.seq ?? 0) > last)]);
    };
    load().catch((error: unknown) => setProblem(problemText(error)));
    return () => {
      isCurrent = false;
      stop();
    };
  }, [id]);

  const shown = useMemo(
    () =>
      (events ?? []).filter(
        (news) => kinds.has(news.type) && (!chat || news.chat_id === chat) && (!agent || agentOf(news) === agent),
      ),
    [events, kinds, chat, agent],
  );
  const toggle = (kind: string) => {
    const next = new Set(kinds);
    if (!next.delete(kind)) next.add(kind);
    setKinds(next);
  };
  const inChat = useMemo(() => (events ?? []).filter((news) => !chat || news.chat_id === chat), [events, chat]);
  return (
    <>
      <TopBar title={`History of ${world?.name ?? id}`} world={id} />
      <div class="view-scroll">
        <div class="column">
          <div class="filters">
            <label class="field">
              <span>Chat</span>
              <select value={chat} onChange={(event) => setChat(event.currentTarget.value)}>
                <option value="">All</option>
                {chats.value[id]?.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.title}
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>Agent</span>
              <select value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
                <option value="">All</option>
                {world?.agents.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <Tabs label="Ways to look back" all={TABS} chosen={tab} choose={setTab}>
            {problem && <Failure text={problem} />}
            {!events && !problem && <Loading />}
            {events && tab === "Timeline" && (
              <>
                <div class="chips left" role="group" aria-label="Kinds of events">
                  {KINDS.map((kind) => (
                    <button
                      key={kind}
                      type="button"
                      class="chip toggle"
                      aria-pressed={kinds.has(kind)}
                      onClick={() => toggle(kind)}
                    >
                      {kind === "crud" ? "change" : kind}
                    </button>
                  ))}
                </div>
                {!isWhole && <p class="notice-line">Only the first {MOST.toLocaleString("en")} events are shown.</p>}
                <Timeline events={shown} world={id} />
              </>
            )}
            {events && tab === "Who called whom" && <Graph events={inChat} agents={world?.agents ?? []} />}
          </Tabs>
        </div>
      </div>
    </>
  );
}

function agentOf(news: News): string | null {
  const data = news.data as { agent_id?: string | null; sender?: string };
  return data.agent_id ?? data.sender ?? null;
}
