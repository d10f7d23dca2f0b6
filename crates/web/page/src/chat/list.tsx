// The messages of a chat, drawn run by run: runs far from the screen are left out and keep their measured height.
// Stays at the end while somebody is at the end; otherwise what is looked at does not move.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Agent } from "../api/types";
import type { OpenChat, Run } from "../state/open";
import { listen } from "../state/news";
import { posted } from "../state/outbox";
import { announce, tell } from "../state/toasts";
import { Icon } from "../ui/icons";
import { memo } from "../ui/memo";
import { EntryView } from "./entry";

/** From here on somebody is at the end. */
const NEAR = 48;
/** How high an entry is before anybody saw it. */
const GUESS = 84;

interface Props {
  chat: OpenChat;
  agents: readonly Agent[];
  main: string | null;
  wanted: string | undefined;
}

export function MessageList({ chat, agents, main, wanted }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const view = useRef({ sticks: true, anchor: null as HTMLElement | null, top: 0, seen: 0 });
  const [isAway, setAway] = useState(false);
  const [hasNew, setNew] = useState(false);

  const toEnd = useCallback(() => {
    const place = scroller.current;
    if (!place) return;
    view.current.sticks = true;
    place.scrollTop = place.scrollHeight;
    setAway(false);
    setNew(false);
  }, []);

  const look = useCallback(() => {
    const place = scroller.current;
    if (!place) return;
    const gap = place.scrollHeight - place.scrollTop - place.clientHeight;
    view.current.sticks = gap < NEAR;
    setAway(gap > 400);
    if (gap < NEAR) setNew(false);
    view.current.anchor = firstVisible(place);
    view.current.top = view.current.anchor?.getBoundingClientRect().top ?? 0;
    if (place.scrollTop < 1_200) void chat.loadOlder();
  }, [chat]);

  // After every change of height, before it is painted: back to the end, or to what was looked at.
  useLayoutEffect(() => {
    const place = scroller.current;
    const inner = content.current;
    if (!place || !inner) return;
    const keepPlace = () => {
      const now = view.current;
      if (now.sticks) place.scrollTop = place.scrollHeight;
      else if (now.anchor?.isConnected) {
        const moved = now.anchor.getBoundingClientRect().top - now.top;
        if (Math.abs(moved) > 1) place.scrollTop += moved;
      }
    };
    const observer = new ResizeObserver(keepPlace);
    observer.observe(inner);
    observer.observe(place);
    keepPlace();
    return () => observer.disconnect();
  }, []);

  useEffect(
    () =>
      chat.arrivals.subscribe(() => {
        if (!view.current.sticks) setNew(true);
      }),
    [chat],
  );

  // Whoever sends something looks at it next, wherever they were reading.
  useEffect(() => {
    const before = posted.peek();
    return posted.subscribe((posting) => {
      if (posting && posting !== before && posting.chat === chat.chat) toEnd();
    });
  }, [chat]);

  // Pieces are not read aloud; a whole message is.
  useEffect(
    () =>
      listen((news) => {
        if (
          news.type !== "message" ||
          news.chat_id !== chat.chat ||
          news.data.role !== "assistant" ||
          !news.data.content
        )
          return;
        if (!news.data.tool_calls?.length) announce(`${news.data.sender}: ${news.data.content.slice(0, 400)}`);
      }),
    [chat],
  );

  useEffect(() => {
    if (!wanted) return;
    const show = () => {
      const entry = document.getElementById(wanted);
      if (!entry) return;
      view.current.sticks = false;
      entry.scrollIntoView({ block: "center" });
      entry.classList.add("marked");
      entry.focus({ preventScroll: true });
      look();
    };
    chat.reach(wanted).then(
      (found) => (found ? requestAnimationFrame(show) : tell("The message of this link is not here any more.")),
      () => tell("The message of this link could not be loaded.", "bad"),
    );
  }, [wanted, chat]);

  // Whoever unfolds something looks at it: it is not to be pushed away.
  const unfolds = (event: MouseEvent) => {
    if ((event.target as Element).closest("summary, [aria-expanded]")) view.current.sticks = false;
  };

  const runs = chat.runs.value;
  return (
    <div class="list-frame">
      <div
        ref={scroller}
        class="list"
        onScroll={look}
        onClick={unfolds}
        tabIndex={0}
        role="log"
        aria-label="Messages"
        aria-live="off"
      >
        <div ref={content} class="list-inner">
          {chat.hasOlder.value && <Older chat={chat} />}
          {runs.map((run, at) => (
            <RunView
              key={run.key}
              run={run}
              chat={chat}
              agents={agents}
              main={main}
              isKept={at >= runs.length - 2 || (wanted !== undefined && run.ids.includes(wanted))}
              root={scroller}
            />
          ))}
        </div>
      </div>
      {(isAway || hasNew) && (
        <button type="button" class={`to-end ${hasNew ? "has-new" : ""}`} onClick={toEnd}>
          <Icon name="arrowDown" /> {hasNew ? "New messages" : "To the end"}
        </button>
      )}
    </div>
  );
}

function Older({ chat }: { chat: OpenChat }) {
  return (
    <div class="older">
      {chat.loadingOlder.value ? (
        <span class="spinner" role="status" aria-label="Loading older messages" />
      ) : (
        <button type="button" class="text-button" onClick={() => void chat.loadOlder()}>
          Load older messages
        </button>
      )}
    </div>
  );
}

function firstVisible(place: HTMLElement): HTMLElement | null {
  const all = place.querySelectorAll<HTMLElement>(".entry, .run-gap");
  const top = place.getBoundingClientRect().top;
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = all[middle];
    if (at && at.getBoundingClientRect().bottom > top) high = middle;
    else low = middle + 1;
  }
  return all[low] ?? null;
}

interface RunProps {
  run: Run;
  chat: OpenChat;
  agents: readonly Agent[];
  main: string | null;
  /** The end is always drawn, and what a link leads to. */
  isKept: boolean;
  root: { current: HTMLDivElement | null };
}

const RunView = memo(function RunView({ run, chat, agents, main, isKept, root }: RunProps) {
  const place = useRef<HTMLDivElement>(null);
  // Until it was drawn nobody knows how high it is; what is looked at stays where it is when that turns out.
  const height = useRef(run.ids.length * GUESS);
  const [isNear, setNear] = useState(!chat.isFar);
  const isDrawn = isNear || isKept;
  const wasDrawn = useRef(isDrawn);
  wasDrawn.current = isDrawn;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new IntersectionObserver(
      ([found]) => {
        if (!found) return;
        if (wasDrawn.current && found.boundingClientRect.height > 0) height.current = found.boundingClientRect.height;
        setNear(found.isIntersecting);
      },
      { root: root.current, rootMargin: "1500px 0px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (place.current) place.current.style.height = isDrawn ? "" : `${height.current}px`;
  });
  return (
    <div ref={place} class={isDrawn ? "run" : "run run-gap"}>
      {isDrawn &&
        run.ids.map((id, at) => (
          <EntryView key={id} id={id} before={run.ids[at - 1]} chat={chat} agents={agents} main={main} />
        ))}
    </div>
  );
});
