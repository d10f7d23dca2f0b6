// The events of a world, from the latest back: as many as were asked for, and whatever happens meanwhile.

import { useEffect, useRef, useState } from "preact/hooks";
import { ask, path, problemText } from "../api/http";
import type { News, Page } from "../api/types";
import { listen } from "../state/news";
import { isStored, joined } from "./fold";

const PAGE = 1_000;
/** Larger than any event's number: the newest. */
const END = Number.MAX_SAFE_INTEGER;
const TYPES = "message,tool,approval,stream,system,crud";

export interface Looking {
  events: News[] | null;
  /** Whether there are older ones than these. */
  hasMore: boolean;
  isBusy: boolean;
  problem: string | null;
  /** Loads older ones: some, or all there are. */
  more: (all: boolean) => void;
}

export function useEvents(world: string): Looking {
  const [events, setEvents] = useState<News[] | null>(null);
  const [before, setBefore] = useState<number | null>(END);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const current = useRef(0);

  const load = async (from: number, all: boolean, round: number) => {
    setBusy(true);
    setProblem(null);
    let next: number | null = from;
    try {
      do {
        const page: Page<News> = await ask(path("worlds", world, "events"), {
          query: { limit: PAGE, before: next, types: TYPES },
        });
        if (current.current !== round) return;
        setEvents((known) => joined(page.data, known ?? []));
        next = page.next ? Number(page.next) : null;
        setBefore(next);
      } while (all && next !== null);
    } catch (error) {
      if (current.current === round) setProblem(problemText(error));
    } finally {
      if (current.current === round) setBusy(false);
    }
  };

  useEffect(() => {
    const round = (current.current += 1);
    setEvents(null);
    setBefore(END);
    const stop = listen((news) => {
      if (news.world_id === world && isStored(news)) setEvents((known) => joined(known ?? [], [news]));
    });
    void load(END, false, round);
    return () => {
      current.current += 1;
      stop();
    };
  }, [world]);

  const more = (all: boolean) => {
    if (before !== null && !isBusy) void load(before, all, current.current);
  };
  return { events, hasMore: before !== null, isBusy, problem, more };
}
