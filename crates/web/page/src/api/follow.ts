// Follows the event stream of the whole server: every stored event once, in order, however often the connection breaks.
// Used once, by `state/news`. Says when it begins anew, so that whoever keeps a picture can load it afresh.

import { problemOf } from "./http";
import { readAnswer } from "./json";
import { Frames, type Frame } from "./sse";
import type { News } from "./types";

export type Connection = "connecting" | "open" | "lost" | "refused";

export interface Listener {
  /** Connected at the live end: everything before this number is to be loaded. */
  began(): void;
  news(news: News): void;
  state(state: Connection): void;
}

/** Larger than any event's number: the stream begins at the live end. */
const LIVE = Number.MAX_SAFE_INTEGER;
/** The server says something every 15 seconds. */
const SILENCE = 40_000;
const LONGEST_PAUSE = 10_000;

export class Follower {
  private last: number | undefined;
  private failures = 0;
  private stopped = true;
  /** Which start a loop belongs to: one that was stopped does not go on when another is started. */
  private round = 0;
  private wake: (() => void) | undefined;
  private attempt: AbortController | undefined;

  constructor(
    private readonly to: string,
    private readonly listener: Listener,
  ) {}

  /** Begins, or goes on after the last event that was heard. */
  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.round += 1;
    void this.run(this.round);
  }

  stop(): void {
    this.stopped = true;
    this.round += 1;
    this.attempt?.abort();
    this.wake?.();
  }

  /** Tries at once, for example when the network is back. */
  hurry(): void {
    this.failures = 0;
    this.wake?.();
  }

  private async run(round: number): Promise<void> {
    while (this.round === round) {
      this.listener.state("connecting");
      const refused = await this.once();
      if (this.round !== round) return;
      if (refused) {
        this.listener.state("refused");
        return;
      }
      this.listener.state("lost");
      await this.pause();
    }
  }

  private pause(): Promise<void> {
    const base = Math.min(LONGEST_PAUSE, 400 * 2 ** this.failures);
    this.failures += 1;
    const wait = base / 2 + Math.random() * (base / 2);
    return new Promise((done) => {
      const timer = setTimeout(done, wait);
      this.wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  /** One connection, until it ends. Returns whether there is no use in trying again. */
  private async once(): Promise<boolean> {
    const attempt = new AbortController();
    this.attempt = attempt;
    let timer = setTimeout(() => attempt.abort(), SILENCE);
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => attempt.abort(), SILENCE);
    };
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      const after = this.last ?? LIVE;
      const response = await fetch(`${this.to}${this.to.includes("?") ? "&" : "?"}after=${after}`, {
        headers,
        signal: attempt.signal,
        credentials: "same-origin",
        cache: "no-store",
      });
      if (!response.ok || !response.body) {
        const problem = await problemOf(response);
        if (problem.status === 401 || problem.status === 403) return true;
        // An end of the log that is not known here any more: another store. Begin anew.
        if (problem.status >= 400 && problem.status < 500) this.last = undefined;
        return false;
      }
      const told = response.headers.get("last-event-id");
      const begins = told === null ? undefined : Number(told);
      // A log that ends before what was heard is another one: the picture of the old one is of no use.
      const isNew = this.last === undefined || (begins !== undefined && begins < this.last);
      if (isNew && begins !== undefined) this.last = begins;
      this.listener.state("open");
      if (isNew) this.listener.began();
      this.failures = 0;
      await this.read(response.body, alive);
    } catch {
      // Broken off: it is taken up after the last event that was heard.
    } finally {
      clearTimeout(timer);
    }
    return false;
  }

  private async read(body: ReadableStream<Uint8Array>, alive: () => void): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const frames = new Frames();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      for (const frame of frames.take(decoder.decode(value, { stream: true }))) this.hear(frame);
    }
  }

  private hear(frame: Frame): void {
    if (frame.event === "error") return;
    const news = readAnswer(frame.data) as unknown as News;
    if (frame.id !== undefined) {
      const seq = Number(frame.id);
      if (this.last !== undefined && seq <= this.last) return;
      this.last = seq;
    }
    this.listener.news(news);
  }
}
