// Following the stream of events through broken connections: no gap, no repeat.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Follower, type Connection } from "../src/api/follow";
import type { News } from "../src/api/types";

function event(seq: number): string {
  return `id: ${seq}\nevent: message\ndata: ${JSON.stringify({ seq, type: "message", data: { id: `m${seq}` } })}\n\n`;
}

const CHUNK = `event: stream\ndata: ${JSON.stringify({ type: "stream", data: { phase: "chunk" } })}\n\n`;

/** Answers each connection with what it is given, in turn, and then with nothing for ever. */
function server(answers: { begins?: number; status?: number; text: string[] }[]) {
  const asked: string[] = [];
  globalThis.fetch = (async (to: string) => {
    asked.push(to);
    const answer = answers.shift();
    if (!answer) return new Promise(() => {});
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const text of answer.text) controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });
    const headers = answer.begins === undefined ? {} : { "last-event-id": String(answer.begins) };
    return new Response(answer.status ? "{}" : body, { status: answer.status ?? 200, headers });
  }) as typeof fetch;
  return asked;
}

async function follow(answers: Parameters<typeof server>[0], until: (asked: string[]) => boolean) {
  const asked = server(answers);
  const heard: (number | undefined)[] = [];
  const states: Connection[] = [];
  let begun = 0;
  const follower = new Follower("/api/events", {
    began: () => (begun += 1),
    news: (news: News) => heard.push(news.seq),
    state: (state) => {
      states.push(state);
      if (state === "lost") setTimeout(() => follower.hurry());
    },
  });
  follower.start();
  while (!until(asked)) await new Promise((done) => setTimeout(done, 1));
  follower.stop();
  return { asked, heard, states, begun: () => begun };
}

test("a connection that breaks is taken up after the last event that was heard", async () => {
  const { asked, heard, begun } = await follow(
    [
      { begins: 5, text: [event(6), CHUNK, event(7).slice(0, 9)] },
      { begins: 6, text: [event(6), event(7), event(9)] },
    ],
    (asked) => asked.length === 3,
  );
  assert.deepEqual(heard, [6, undefined, 7, 9]);
  assert.deepEqual(
    asked.map((to) => to.split("after=")[1]),
    [String(Number.MAX_SAFE_INTEGER), "6", "9"],
  );
  assert.equal(begun(), 1);
});

test("before the first event it resumes where the stream began", async () => {
  const { asked } = await follow([{ begins: 5, text: [] }], (asked) => asked.length === 2);
  assert.equal(asked[1]?.split("after=")[1], "5");
});

test("a log that ends before what was heard is another one: everything begins anew", async () => {
  const { begun } = await follow(
    [
      { begins: 90, text: [event(95)] },
      { begins: 3, text: [] },
    ],
    (asked) => asked.length === 3,
  );
  assert.equal(begun(), 2);
});

test("whoever is refused does not ask for ever", async () => {
  const { asked, states } = await follow([{ status: 403, text: [] }], () => true).then(async (found) => {
    await new Promise((done) => setTimeout(done, 20));
    return found;
  });
  assert.equal(asked.length, 1);
  assert.equal(states.includes("open"), false);
});

test("one that is stopped and started again goes on where it was, in one loop", async () => {
  const asked = server([
    { begins: 5, text: [event(6)] },
    { begins: 6, text: [event(7)] },
  ]);
  const heard: (number | undefined)[] = [];
  let begun = 0;
  const follower = new Follower("/api/events", {
    began: () => (begun += 1),
    news: (news: News) => heard.push(news.seq),
    state: (state) => {
      if (state !== "lost") return;
      follower.stop();
      follower.start();
      follower.start();
    },
  });
  follower.start();
  while (asked.length < 3) await new Promise((done) => setTimeout(done, 1));
  follower.stop();
  assert.deepEqual(heard, [6, 7]);
  assert.equal(begun, 1);
  assert.deepEqual(
    asked.map((to) => to.split("after=")[1]),
    [String(Number.MAX_SAFE_INTEGER), "6", "7"],
  );
});

test("who was signed out and in again goes on after what they heard last, and nothing is loaded anew", async () => {
  const asked = server([
    { begins: 5, text: [event(6)] },
    { status: 401, text: [] },
    { begins: 6, text: [event(7)] },
  ]);
  const heard: (number | undefined)[] = [];
  let begun = 0;
  const follower = new Follower("/api/events", {
    began: () => (begun += 1),
    news: (news: News) => heard.push(news.seq),
    state: (state) => {
      if (state === "lost") setTimeout(() => follower.hurry());
      if (state !== "refused") return;
      follower.stop();
      follower.start();
    },
  });
  follower.start();
  while (asked.length < 4) await new Promise((done) => setTimeout(done, 1));
  follower.stop();
  assert.deepEqual([heard, begun], [[6, 7], 1]);
  assert.equal(asked[2]?.split("after=")[1], "6");
});
