// Looking back at a world: what happened in order, and who spoke to whom.

import { useEffect, useMemo, useState } from "preact/hooks";
import { chats, nameOfWorld, wantChats, worldById, worlds } from "../state/worlds";
import { NoWorld } from "../shell/no-world";
import { TopBar } from "../shell/top-bar";
import { Failure, Loading } from "../ui/parts";
import { Tabs } from "../ui/tabs";
import { fullTime, plural } from "../words";
import { useEvents, type Looking } from "./events";
import { fits, fold, STATES, type Kind } from "./fold";
import { Graph } from "./graph";
import { Timeline } from "./timeline";

const TABS = ["Timeline", "Who called whom"] as const;
const KINDS: [Kind, string][] = [
  ["message", "Messages"],
  ["call", "Calls"],
  ["reply", "Model calls"],
  ["notice", "Notices"],
  ["change", "Changes"],
];
const FIRST: Kind[] = ["message", "call", "notice", "change"];

export function HistoryPage({ world }: { world: string }) {
  const isMissing = worlds.value !== null && !worldById.value.has(world);
  return isMissing ? <NoWorld title="History" /> : <History world={world} />;
}

function History({ world: id }: { world: string }) {
  const [tab, setTab] = useState<(typeof TABS)[number]>("Timeline");
  const [kinds, setKinds] = useState<ReadonlySet<Kind>>(new Set(FIRST));
  const [filter, setFilter] = useState({ chat: "", agent: "", tool: "", state: "" });
  const looking = useEvents(id);
  const { events } = looking;
  const world = worldById.value.get(id);
  useEffect(() => wantChats(id), [id]);

  const known = chats.value[id];
  const all = useMemo(() => {
    const title = (chat: string) => known?.find((one) => one.id === chat)?.title;
    return fold(events ?? [], (entity, name) => (entity === "chat" && title(name)) || name);
  }, [events, known]);
  const shown = useMemo(() => all.filter((one) => fits(one, { ...filter, kinds })), [all, kinds, filter]);
  const tools = useMemo(() => [...new Set(all.flatMap((one) => one.tool ?? []))].sort(), [all]);
  const put = (change: Partial<typeof filter>) => setFilter({ ...filter, ...change });
  const toggle = (kind: Kind) => {
    const next = new Set(kinds);
    if (!next.delete(kind)) next.add(kind);
    setKinds(next);
  };
  const inChat = useMemo(
    () => (events ?? []).filter((news) => !filter.chat || news.chat_id === filter.chat),
    [events, filter.chat],
  );
  const isTimeline = tab === "Timeline";
  return (
    <>
      <TopBar title={`History of ${nameOfWorld(id)}`} world={id} />
      <div class="view-scroll">
        <div class="column">
          <Tabs label="Ways to look back" all={TABS} chosen={tab} choose={setTab}>
            <div class="filters">
              <Choice
                label="Chat"
                value={filter.chat}
                choose={(chat) => put({ chat })}
                among={(known ?? []).map((one) => [one.id, one.title])}
              />
              {isTimeline && (
                <>
                  <Choice
                    label="Agent"
                    value={filter.agent}
                    choose={(agent) => put({ agent })}
                    among={(world?.agents ?? []).map((one) => [one.id, one.name])}
                  />
                  <Choice
                    label="Tool"
                    value={filter.tool}
                    choose={(tool) => put({ tool })}
                    among={tools.map((tool) => [tool, tool])}
                  />
                  <Choice
                    label="State"
                    value={filter.state}
                    choose={(state) => put({ state })}
                    among={STATES.map(([name, meaning]) => [name, meaning])}
                  />
                </>
              )}
            </div>
            {looking.problem && <Failure text={looking.problem} again={() => looking.more(false)} />}
            {!events && !looking.problem && <Loading />}
            {events && isTimeline && (
              <>
                <div class="chips left" role="group" aria-label="Kinds of events">
                  {KINDS.map(([kind, name]) => (
                    <button
                      key={kind}
                      type="button"
                      class="chip toggle"
                      aria-pressed={kinds.has(kind)}
                      onClick={() => toggle(kind)}
                    >
                      {name}
                    </button>
                  ))}
                </div>
                <Timeline key={JSON.stringify([filter, [...kinds]])} all={shown} world={id} />
              </>
            )}
            {events && !isTimeline && (
              <Graph events={inChat} agents={world?.agents ?? []} main={world?.main_agent ?? null} />
            )}
            {events && <HowFar looking={looking} />}
          </Tabs>
        </div>
      </div>
    </>
  );
}

function Choice({
  label,
  value,
  among,
  choose,
}: {
  label: string;
  value: string;
  among: readonly (readonly [string, string])[];
  choose: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">All</option>
        {among.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** How far back all of this reaches, and the way to what is older. */
function HowFar({ looking }: { looking: Looking }) {
  const { events, hasMore, isBusy, more } = looking;
  const first = events?.[0];
  if (!hasMore) return <p class="soft small-text how-far">This is everything since the world was made.</p>;
  return (
    <div class="notice-line row how-far" role="status">
      <span class="grow">
        {plural(events?.length ?? 0, "event")} are here, back to {first ? fullTime(first.at) : "now"}. There are older
        ones.
      </span>
      <button type="button" class="button small" disabled={isBusy} onClick={() => more(false)}>
        {isBusy ? "Loading…" : "Load older ones"}
      </button>
      <button type="button" class="button small" disabled={isBusy} onClick={() => more(true)}>
        Load all
      </button>
    </div>
  );
}
