// Asking the server: what may be repeated, and in whose name.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { ask, bytes, OTHER_SESSION, Problem, read, setIdentity, whenAnother, whenSignedOut } from "../src/api/http";

interface Asked {
  to: string;
  method: string;
  csrf: string | undefined;
  key: string | undefined;
}

function answers(...all: [number, unknown][]): Asked[] {
  const asked: Asked[] = [];
  globalThis.fetch = (async (to: string, options: RequestInit) => {
    const headers = options.headers as Record<string, string>;
    asked.push({ to, method: options.method ?? "", csrf: headers["x-csrf-token"], key: headers["idempotency-key"] });
    const [status, body] = all.shift() ?? [500, {}];
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers: { etag: '"7"' } });
  }) as typeof fetch;
  return asked;
}

const REFUSED: [number, unknown] = [403, { code: "csrf_token_missing", detail: "needs the header" }];
const told: string[] = [];

beforeEach(() => {
  told.length = 0;
  setIdentity({ name: "ada", csrf: "old" });
  whenAnother((name) => told.push(name));
  whenSignedOut(() => told.push("signed out"));
});

const isProblem = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

test("who signed in anew in another tab is the same person, and is not asked", async () => {
  const asked = answers(REFUSED, [200, { name: "ada", csrf: "new" }], [200, { done: true }]);
  assert.deepEqual(await ask("/api/x", { method: "POST", body: {} }), { done: true });
  assert.deepEqual(
    asked.map((one) => `${one.method} ${one.to} ${one.csrf}`),
    ["POST /api/x old", "GET /api/session undefined", "POST /api/x new"],
  );
  assert.equal(asked[0]?.key, asked[2]?.key);
  assert.deepEqual(told, []);
});

test("nothing is sent in the name of somebody else who signed in meanwhile", async () => {
  const asked = answers(REFUSED, [200, { name: "maria", csrf: "hers" }], [200, {}]);
  await assert.rejects(ask("/api/x", { method: "POST", body: {} }), isProblem(OTHER_SESSION));
  assert.equal(asked.filter((one) => one.method === "POST").length, 1);
  assert.deepEqual(told, ["maria"]);
  // Nor later: the word that this page has is still its own.
  const later = answers(REFUSED, [200, { name: "maria", csrf: "hers" }]);
  await assert.rejects(ask("/api/y", { method: "DELETE" }), isProblem(OTHER_SESSION));
  assert.equal(later[0]?.csrf, "old");
});

test("where nobody is signed in any more it is said so", async () => {
  answers(REFUSED, [200, { name: null, csrf: null }]);
  await assert.rejects(ask("/api/x", { method: "POST", body: {} }), isProblem("unauthorized"));
  assert.deepEqual(told, ["signed out"]);
});

test("a key that is given is the one that is sent, however often", async () => {
  const asked = answers([503, {}], [200, {}]);
  await ask("/api/x", { method: "POST", body: {}, key: "mine" });
  assert.deepEqual(
    asked.map((one) => one.key),
    ["mine", "mine"],
  );
});

test("an answer has its version, and bytes stay bytes", async () => {
  answers([200, { a: 1 }], [200, '{"n": 9007199254740993,  "x": 1.0}']);
  assert.deepEqual(await read("/api/x"), { value: { a: 1 }, version: '"7"' });
  assert.equal(await (await bytes("/api/x")).text(), '{"n": 9007199254740993,  "x": 1.0}');
});
