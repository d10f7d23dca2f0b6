// The chat that is open: its conversation as signals, loaded from its end backwards, kept up with the news.
// One at a time; the views read it. Pieces of replies are published a few times a second, however fast they come.

import { batch, signal, type Signal } from "@preact/signals";
import { chats as chatCalls, messages as messageCalls } from "../api/calls";
import { isAborted, Problem, problemText } from "../api/http";
import type { News } from "../api/types";
import { Conversation, type Entry } from "./conversation";
import { looksAt } from "./worlds";

/** A run of entries that is drawn, or left out, as one. */
export interface Run {
  key: string;
  ids: string[];
}

const PAGE = 60;
const FAR_PAGE = 500;
const RUN = 30;
/** Milliseconds between two drawings of what is heard: as smooth to read as every frame, at a third of the work. */
const APART = 50;
/** Details of calls that are asked for at the same time. */
const AT_ONCE = 5;

export class OpenChat {
  readonly runs = signal<Run[]>([]);
  readonly state = signal<"loading" | "ready" | "missing" | "failed">("loading");
  readonly problem = signal<string | null>(null);
  readonly hasOlder = signal(false);
  readonly loadingOlder = signal(false);
  /** Counts what was said since it was opened. */
  readonly arrivals = signal(0);

  /** Whether so much was loaded at once that it is drawn only where somebody looks. */
  isFar = false;

  private readonly conversation = new Conversation();
  private readonly signals = new Map<string, Signal<Entry>>();
  private readonly stop = new AbortController();
  private oldest = "";
  private anchor: string | undefined;
  private scheduled = false;
  private published = 0;
  /** Something was said since the last time; what is only loaded is no news. */
  private isNews = false;
  private queue: string[] = [];
  private asking = 0;
  private askedFor = new Set<string>();
  /** Pages under way: they may hold what was taken back meanwhile. */
  private loading = 0;

  constructor(
    readonly world: string,
    readonly chat: string,
  ) {}

  entry(id: string): Signal<Entry> | undefined {
    return this.signals.get(id);
  }

  /** The entries in order; for whoever looks for one. */
  get order(): readonly string[] {
    return this.conversation.order;
  }

  peek(id: string): Entry | undefined {
    return this.conversation.entries.get(id);
  }

  async load(): Promise<void> {
    try {
      await this.loadPage(PAGE);
      this.state.value = "ready";
    } catch (error) {
      if (isAborted(error)) return;
      this.problem.value = problemText(error);
      this.state.value = error instanceof Problem && error.status === 404 ? "missing" : "failed";
    }
  }

  async loadOlder(): Promise<void> {
    if (this.loadingOlder.peek() || !this.hasOlder.peek()) return;
    this.loadingOlder.value = true;
    try {
      await this.loadPage(this.conversation.order.length > 400 ? FAR_PAGE / 2 : PAGE);
    } catch (error) {
      if (!isAborted(error)) this.problem.value = problemText(error);
    } finally {
      this.loadingOlder.value = false;
    }
  }

  /** Loads back to a message. Returns whether it is there. */
  async reach(message: string): Promise<boolean> {
    while (!this.conversation.entries.has(message) && this.hasOlder.peek()) {
      this.isFar = true;
      if (this.stop.signal.aborted) return false;
      await this.loadPage(FAR_PAGE, "later");
    }
    this.publish();
    return this.conversation.entries.has(message);
  }

  private async loadPage(limit: number, shown: "now" | "later" = "now"): Promise<void> {
    this.loading += 1;
    const asked = messageCalls.before(this.world, this.chat, this.oldest, limit, this.stop.signal);
    const page = await asked.finally(() => (this.loading -= 1));
    this.conversation.precede(page.data);
    this.hasOlder.value = page.data.length >= limit || (page.next ?? null) !== null;
    this.oldest = page.data[0]?.id ?? this.oldest;
    if (shown === "now") this.publish();
  }

  hear(news: News): void {
    if (news.chat_id !== this.chat) return;
    const isCut = news.type === "crud" && news.data.entity === "message" && Boolean(news.data.from);
    // What is left after something unknown was taken back is not guessed.
    if (!this.conversation.hear(news) || (isCut && this.loading > 0)) return this.beginAnew();
    this.isNews ||= news.type === "message" || news.type === "stream" || news.type === "tool";
    this.schedule();
  }

  close(): void {
    this.stop.abort();
  }

  /** The same chat, loaded from its end, in place of this one. */
  beginAnew(): void {
    this.close();
    if (open.peek() !== this) return;
    const next = new OpenChat(this.world, this.chat);
    open.value = next;
    void next.load();
  }

  /** The call as the server knows it; asked for once somebody sees it. */
  want(call: string): void {
    if (this.askedFor.has(call)) return;
    this.askedFor.add(call);
    this.queue.push(call);
    this.askNext();
  }

  private askNext(): void {
    while (this.asking < AT_ONCE) {
      const next = this.queue.pop();
      if (next === undefined) return;
      this.asking += 1;
      chatCalls
        .call(this.world, this.chat, next)
        .then((call) => {
          this.conversation.call(call);
          this.schedule();
        })
        .catch(() => this.askedFor.delete(next))
        .finally(() => {
          this.asking -= 1;
          this.askNext();
        });
    }
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const act = () => {
      this.scheduled = false;
      this.published = performance.now();
      this.publish();
    };
    // A page that nobody sees gets no frames, but its title must still tell the truth.
    const draw = () => (document.hidden ? act() : requestAnimationFrame(act));
    const rest = document.hidden ? 100 : this.published + APART - performance.now();
    if (rest > 0) setTimeout(draw, rest);
    else draw();
  }

  private publish(): void {
    const { ids, reordered } = this.conversation.takeChanges();
    batch(() => {
      for (const id of ids) {
        const entry = this.conversation.entries.get(id);
        if (!entry) continue;
        const known = this.signals.get(id);
        if (known) known.value = entry;
        else this.signals.set(id, signal(entry));
      }
      if (ids.size > 0 && this.isNews) this.arrivals.value += 1;
      this.isNews = false;
      if (reordered) {
        for (const id of this.signals.keys()) if (!this.conversation.entries.has(id)) this.signals.delete(id);
        this.runs.value = this.cutIntoRuns();
      }
    });
  }

  /** Cut from a fixed entry to both sides, so that a run that was drawn and measured stays the same run. */
  private cutIntoRuns(): Run[] {
    const order = this.conversation.order;
    if (this.anchor === undefined || !this.conversation.entries.has(this.anchor)) this.anchor = order[0];
    const middle = this.anchor === undefined ? 0 : order.indexOf(this.anchor);
    const runs: Run[] = [];
    for (let end = middle; end > 0; end -= RUN) {
      const ids = order.slice(Math.max(0, end - RUN), end);
      runs.unshift({ key: `b${ids[ids.length - 1]}`, ids });
    }
    for (let start = middle; start < order.length; start += RUN) {
      const ids = order.slice(start, start + RUN);
      runs.push({ key: `f${ids[0]}`, ids });
    }
    const before = new Map(this.runs.peek().map((run) => [run.key, run]));
    return runs.map((run) => {
      const known = before.get(run.key);
      const isSame = known && known.ids.length === run.ids.length && known.ids.every((id, at) => id === run.ids[at]);
      return isSame ? known : run;
    });
  }
}

export const open = signal<OpenChat | null>(null);
/** Nothing is loaded before news are heard: what happens between the two would be missed. */
let hears = false;

/** Opens a chat in place of the one that is open. Returns how to close it again. */
export function openChat(world: string, chat: string): () => void {
  const known = open.peek();
  const close = () => closeChat(chat);
  if (known && known.world === world && known.chat === chat) return close;
  known?.close();
  const next = new OpenChat(world, chat);
  open.value = next;
  looksAt(chat);
  if (hears) void next.load();
  return close;
}

// Whoever comes next may have opened another already: that one stays.
function closeChat(chat: string): void {
  if (open.peek()?.chat !== chat) return;
  open.peek()?.close();
  open.value = null;
  looksAt(null);
}

/** Loaded, or loaded again from its end, after the stream of events began. */
export function reopenChat(): void {
  const isFirst = !hears;
  hears = true;
  const known = open.peek();
  if (!known) return;
  if (isFirst) return void known.load();
  known.beginAnew();
}
