// What waits: loaded and heard in any order, decided once.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import type { Approval } from "../src/api/types";
import {
  clearSettled,
  decide,
  hearApproval,
  hearOfInbox,
  inbox,
  inboxIsLoaded,
  inboxProblem,
  loadInbox,
  refreshInbox,
  releasedBy,
  waitingCount,
} from "../src/state/inbox";

let count = 0;

function approval(change: Partial<Approval> = {}): Approval {
  count += 1;
  return {
    id: `apr_${count}`,
    state: "pending",
    world_id: "w",
    chat_id: "c",
    agent_id: "ada",
    tool_call_id: `call_${count}`,
    tool: "shell_cmd",
    arguments: {},
    message: "",
    shown: "{}",
    options: [],
    suggested_matches: [{ label: "this", matches: [] }],
    created_at: `2026-01-01T00:00:${String(count).padStart(2, "0")}Z`,
    ...change,
  };
}

function answers(...all: { status?: number; body: unknown }[]) {
  const asked: { to: string; body: unknown }[] = [];
  globalThis.fetch = (async (to: string, options: RequestInit) => {
    asked.push({ to, body: options.body ? JSON.parse(String(options.body)) : undefined });
    const { status = 200, body } = all.shift() ?? { body: {} };
    return new Response(JSON.stringify(body), { status });
  }) as typeof fetch;
  return asked;
}

beforeEach(() => {
  inbox.value = [];
});

test("what was settled before the list came does not wait", async () => {
  const [one, two] = [approval(), approval()];
  hearApproval({ ...one, state: "denied" });
  answers({ body: { data: [one, two], next: null } });
  await loadInbox();
  assert.deepEqual(
    inbox.value.map((found) => found.approval.id),
    [two.id],
  );
});

test("the oldest comes first, and none twice", () => {
  const [one, two] = [approval(), approval()];
  for (const heard of [two, one, two]) hearApproval(heard);
  assert.deepEqual(
    inbox.value.map((found) => found.approval.id),
    [one.id, two.id],
  );
});

test("a decision names what it is believed to be about, and counts when the server says so", async () => {
  const one = approval();
  hearApproval(one);
  const asked = answers({
    body: { ...one, state: "approved", decision: "approve", scope: "session", decided_by: "me" },
  });
  assert.equal(await decide(one, { decision: "approve", scope: "session", match: 0 }), true);
  assert.deepEqual(asked[0]?.body, {
    decision: "approve",
    scope: "session",
    match: 0,
    agent_id: "ada",
    tool: "shell_cmd",
  });
  assert.deepEqual(
    [inbox.value[0]?.approval.state, inbox.value[0]?.ours, inbox.value[0]?.chosen],
    ["approved", "yes", "this"],
  );
  assert.equal(waitingCount.value, 0);
});

test("whoever comes second is shown what was decided", async () => {
  const one = approval();
  hearApproval(one);
  answers({
    status: 409,
    body: {
      code: "approval_settled",
      detail: "was already denied",
      approval: { ...one, state: "denied", decided_by: "ben" },
    },
  });
  assert.equal(await decide(one, { decision: "approve" }), false);
  assert.deepEqual(
    [inbox.value[0]?.approval.state, inbox.value[0]?.approval.decided_by, inbox.value[0]?.problem],
    ["denied", "ben", null],
  );
});

test("what the server refuses leaves the request waiting and says why", async () => {
  const one = approval();
  hearApproval(one);
  answers({ status: 422, body: { code: "invalid", detail: "no such field" } });
  await decide(one, { decision: "approve" });
  assert.deepEqual(
    [inbox.value[0]?.approval.state, inbox.value[0]?.ours, inbox.value[0]?.problem],
    ["pending", "no", "No such field"],
  );
});

test("a permission counts those it let through, in its own reach only", () => {
  const given = approval({
    state: "approved",
    decision: "approve",
    scope: "session",
    decided_at: "2026-01-01T01:00:00Z",
  });
  const through = (change: Partial<Approval>) => ({
    approval: approval({ state: "approved", decided_through: "grant", decided_at: "2026-01-01T01:00:00Z", ...change }),
    ours: "no" as const,
    settledAt: null,
    problem: null,
    chosen: null,
  });
  const all = [
    through({}),
    through({ chat_id: "other" }),
    through({ agent_id: "bob" }),
    through({ decided_through: null }),
    through({ decided_at: "2026-01-01T00:59:00Z" }),
  ];
  assert.equal(releasedBy(given, all), 1);
});

test("what waited in a chat that is gone does not wait", () => {
  const one = approval({ chat_id: "gone" });
  hearApproval(one);
  hearOfInbox({ type: "crud", world_id: "w", at: "", data: { entity: "chat", action: "deleted", id: "gone" } });
  assert.equal(inbox.value.length, 0);
});

/** Lets what was begun come to its end, while the clock stands. */
const settle = () => new Promise((done) => setImmediate(done));

test("what cannot be loaded is said, and tried again", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  inboxIsLoaded.value = false;
  const one = approval();
  const broken = { status: 500, body: { code: "internal", detail: "the store is gone" } };
  const asked = answers(broken, broken, { body: { data: [one], next: null } });
  await refreshInbox();
  assert.deepEqual([inboxIsLoaded.value, inboxProblem.value], [false, "The store is gone"]);
  mock.timers.tick(2_000);
  await settle();
  assert.equal(asked.length, 2);
  assert.equal(inboxProblem.value, "The store is gone");
  mock.timers.tick(5_000);
  await settle();
  assert.deepEqual([asked.length, inboxIsLoaded.value, inboxProblem.value, waitingCount.value], [3, true, null, 1]);
  mock.timers.tick(60_000);
  await settle();
  assert.equal(asked.length, 3);
  mock.timers.reset();
});

test("what the server refuses is not asked for again by itself", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const asked = answers({ status: 403, body: { code: "forbidden", detail: "not for you" } });
  await refreshInbox();
  assert.equal(inboxProblem.value, "Not for you");
  mock.timers.tick(60_000);
  await settle();
  assert.equal(asked.length, 1);
  mock.timers.reset();
});

test("settled ones go, but for those that are kept", () => {
  const [one, two, three] = [approval(), approval(), approval()];
  for (const heard of [one, two, three]) hearApproval(heard);
  for (const heard of [one, two]) hearApproval({ ...heard, state: "denied" });
  clearSettled((found) => found.approval.id === two.id);
  assert.deepEqual(
    inbox.value.map((found) => found.approval.id),
    [two.id, three.id],
  );
});
