// Messages on their way: in order, each with one key until the server took it, and only in the name of who wrote them.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { interruption, me } from "../src/state/session";
import { outbox, post, sendNow, takeBack } from "../src/state/outbox";

interface Sent {
  to: string;
  key: string | undefined;
  content: unknown;
}

type Answer = [number, unknown] | "lost";

function answers(...all: Answer[]): Sent[] {
  const sent: Sent[] = [];
  globalThis.fetch = (async (to: string, options: RequestInit) => {
    const headers = options.headers as Record<string, string>;
    sent.push({ to, key: headers["idempotency-key"], content: JSON.parse(String(options.body)).content });
    const answer = all.shift() ?? [202, {}];
    if (answer === "lost") throw new TypeError("no connection");
    return new Response(JSON.stringify(answer[1]), { status: answer[0] });
  }) as typeof fetch;
  return sent;
}

const states = () => outbox.value.map((one) => `${one.posting.text} ${one.state}`);
const keys = (sent: Sent[]) => new Set(sent.map((one) => one.key)).size;
const until = async (isSo: () => boolean) => {
  for (let count = 0; count < 2_000 && !isSo(); count += 1) await new Promise((done) => setTimeout(done, 5));
  assert.ok(isSo());
};

beforeEach(() => {
  outbox.value = [];
  interruption.value = null;
  me.value = { name: "ada", role: "admin", signedIn: true };
});

test("messages go in the order they were written, one after another", async () => {
  const sent = answers();
  await Promise.all([post("w", "c", "one", []), post("w", "c", "two", [])]);
  await until(() => outbox.value.length === 0);
  assert.deepEqual(
    sent.map((one) => one.content),
    ["one", "two"],
  );
  assert.equal(keys(sent), 2);
});

test("what may have arrived is sent again with its own key, and those after it wait", async () => {
  const sent = answers("lost", "lost", "lost", "lost");
  void post("w", "lost", "one", []);
  void post("w", "lost", "two", []);
  await until(() => outbox.value[0]?.state === "waiting" && outbox.value[0].problem !== null);
  assert.deepEqual(states(), ["one waiting", "two waiting"]);
  assert.equal(keys(sent), 1);
  const again = answers();
  sendNow("lost");
  await until(() => outbox.value.length === 0);
  assert.equal(again[0]?.key, sent[0]?.key);
  assert.deepEqual(
    again.map((one) => one.content),
    ["one", "two"],
  );
});

test("what the server refuses stays to be put back, and the next one goes", async () => {
  const sent = answers([413, { code: "message_too_large", detail: "too long" }]);
  await Promise.all([post("w", "big", "long", []), post("w", "big", "short", [])]);
  await until(() => sent.length === 2 && outbox.value.length === 1);
  assert.deepEqual(states(), ["long refused"]);
  assert.equal(outbox.value[0]?.problem, "Too long");
  takeBack(outbox.value[0]?.posting.key ?? "");
  assert.deepEqual(states(), []);
});

test("a session that ended is no refusal, and nothing is sent in the name of another", async () => {
  const sent = answers([401, { code: "unauthorized", detail: "sign in again" }]);
  void post("w", "mine", "one", []);
  await until(() => outbox.value[0]?.problem === "Sign in again");
  me.value = { name: "maria", role: "admin", signedIn: true };
  sendNow("mine");
  await new Promise((done) => setTimeout(done, 20));
  assert.equal(sent.length, 1);
  me.value = { name: "ada", role: "admin", signedIn: true };
  sendNow("mine");
  await until(() => outbox.value.length === 0);
  assert.equal(keys(sent), 1);
});

test("images go with their text", async () => {
  const sent = answers();
  await post("w", "p", "look", [{ id: "1", name: "a.png", url: "data:image/png;base64,AA==" }]);
  await until(() => outbox.value.length === 0);
  assert.deepEqual(sent[0]?.content, [
    { type: "input_text", text: "look" },
    { type: "input_image", image_url: "data:image/png;base64,AA==" },
  ]);
});
