// What happened: many events of one thing are one line, in whatever pieces they were loaded.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent, News } from "../src/api/types";
import { edges } from "../src/history/graph";
import { fits, fold, joined, type Filter, type Kind } from "../src/history/fold";

let seq = 0;
const told = (type: string, data: unknown): News =>
  ({
    seq: (seq += 1),
    type,
    world_id: "w",
    chat_id: "c",
    at: `2026-01-01T00:00:${String(seq % 60).padStart(2, "0")}Z`,
    data,
  }) as News;
const call = (state: string, id = "call_1") =>
  told("tool", { id, agent_id: "ada", name: "shell_cmd", arguments: { script: "git push" }, state });
const approval = (state: string, more = {}) =>
  told("approval", {
    id: "apr_1",
    tool_call_id: "call_1",
    agent_id: "ada",
    tool: "shell_cmd",
    arguments: { script: "git push" },
    state,
    ...more,
  });
const message = (role: string, content: string, more = {}) =>
  told("message", { id: `msg_${seq}`, role, sender: role === "user" ? "human" : "ada", content, ...more });

test("a call is one line with all that it went through", () => {
  const all = fold([
    message("user", "push it"),
    message("assistant", "", { tool_calls: [{ id: "call_1", function: { name: "shell_cmd" } }] }),
    call("pending"),
    approval("pending"),
    call("awaiting_approval"),
    approval("approved", { decided_by: "bob", scope: "once" }),
    call("executing"),
    call("completed"),
    message("tool", "done", { tool_call_id: "call_1" }),
  ]);
  assert.deepEqual(
    all.map((one) => [one.kind, one.who, one.what, one.end]),
    [
      ["message", "human", "push it", ""],
      ["call", "ada", "git push", "done"],
    ],
  );
  assert.deepEqual(
    all[1]?.steps.map((step) => step.words),
    ["waits for approval", "approved once by bob", "running", "done"],
  );
  assert.equal(all[1]?.data["result"], "done");
  assert.equal(all[1]?.asked, true);
});

test("a reply is one line, and one that failed says why", () => {
  const stream = (phase: string, more = {}) => told("stream", { phase, message_id: "m", agent_id: "ada", ...more });
  const [one, ...others] = fold([stream("start"), stream("error", { error: "no key" })]);
  assert.equal(others.length, 0);
  assert.deepEqual([one?.kind, one?.end], ["reply", "failed: no key"]);
});

test("a call whose beginning is not loaded yet stands by what is known of it", () => {
  const [one] = fold([approval("denied", { decided_by: "bob", reason: "not now" }), call("denied")]);
  assert.deepEqual([one?.tool, one?.end], ["shell_cmd", "denied"]);
  assert.deepEqual(one?.steps[0]?.words, "denied by bob: not now");
});

test("filters look for agent, tool and state", () => {
  const all = fold([message("user", "hello"), call("completed"), call("failed", "call_2")]);
  const kinds = new Set<Kind>(["message", "call"]);
  const find = (filter: Partial<Filter>) =>
    all.filter((one) => fits(one, { kinds, chat: "", agent: "", tool: "", state: "", ...filter })).length;
  assert.deepEqual(
    [find({}), find({ tool: "shell_cmd" }), find({ state: "failed" }), find({ agent: "ada" }), find({ agent: "bob" })],
    [3, 2, 1, 2, 0],
  );
  assert.equal(find({ kinds: new Set<Kind>(["message"]) }), 1);
});

test("who names nobody speaks to the main agent, or to all", () => {
  const agents = ["ada", "bob"].map((id) => ({ id, name: id })) as Agent[];
  const events = [
    message("user", "hello"),
    message("user", "@bob hello"),
    message("assistant", "@bob look"),
    call("pending"),
    call("completed"),
  ];
  const told = (main: string | null) =>
    edges(events, agents, main)
      .map((edge) => `${edge.from} ${edge.to} ${edge.count}`)
      .sort();
  assert.deepEqual(told("ada"), ["ada bob 1", "ada ⚙ shell_cmd 1", "human ada 1", "human bob 1"]);
  assert.deepEqual(told(null), ["ada bob 1", "ada ⚙ shell_cmd 1", "human ada 1", "human bob 2"]);
});

test("pieces that overlap are joined without doubles", () => {
  const [a, b, c] = [message("user", "1"), message("user", "2"), message("user", "3")];
  assert.ok(a && b && c);
  assert.deepEqual(joined([a, b], [b, c]), [a, b, c]);
  assert.deepEqual(joined([a], [c]), [a, c]);
  assert.deepEqual(joined([c], [a]), [a, c]);
  assert.deepEqual(joined([], [a]), [a]);
});
