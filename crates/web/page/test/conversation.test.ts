// The fold of a chat: what is loaded and what is heard may overlap, come twice, and come late.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call, Message, News, StreamNews } from "../src/api/types";
import { Conversation, type Called, type Said } from "../src/state/conversation";

const AT = "2026-01-01T00:00:00Z";

function message(id: string, change: Partial<Message> = {}): Message {
  return { id, chat_id: "c", role: "user", sender: "human", content: id, created_at: AT, ...change };
}

function heard(type: News["type"], data: unknown): News {
  return { type, world_id: "w", chat_id: "c", at: AT, data } as News;
}

function chunk(offset: number, delta: string, more: Partial<StreamNews> = {}): News {
  return heard("stream", {
    phase: "chunk",
    message_id: "m",
    agent_id: "ada",
    offset,
    delta,
    reasoning_delta: "",
    ...more,
  });
}

function call(state: string, change: Partial<Call> = {}): Call {
  return {
    id: "call",
    chat_id: "c",
    agent_id: "ada",
    turn_id: "t",
    name: "shell_cmd",
    arguments: { command: "ls" },
    blocking: true,
    location: "server",
    state,
    requested_at: AT,
    is_error: false,
    ...change,
  };
}

const said = (chat: Conversation, id: string) => chat.entries.get(id) as Said;

test("what is heard before the page is loaded stays after it, once", () => {
  const chat = new Conversation();
  chat.hear(heard("message", message("3")));
  chat.precede([message("1"), message("2"), message("3")]);
  chat.hear(heard("message", message("4")));
  chat.hear(heard("message", message("4")));
  assert.deepEqual(chat.order, ["1", "2", "3", "4"]);
});

test("what was heard of a page already stands where the log has it", () => {
  const chat = new Conversation();
  chat.hear(heard("message", message("3")));
  chat.precede([message("1"), message("2"), message("3"), message("4")]);
  chat.hear(heard("message", message("5")));
  assert.deepEqual(chat.order, ["1", "2", "3", "4", "5"]);
});

test("replies stand in the order in which they were stored, and what is being written comes last", () => {
  const chat = new Conversation();
  const begun = (id: string) => chat.hear(chunk(0, "x", { message_id: id }));
  const stored = (id: string, more: Partial<Message> = {}) =>
    chat.hear(heard("message", message(id, { role: "assistant", sender: "ada", ...more })));
  chat.precede([message("1")]);
  begun("a");
  begun("b");
  chat.hear(heard("message", message("2")));
  assert.deepEqual(chat.order, ["1", "2", "a", "b"]);
  const calls = [{ id: "call", type: "function", function: { name: "shell_cmd", arguments: "{}" } }];
  stored("b", { tool_calls: calls });
  assert.deepEqual(chat.order, ["1", "2", "b", "call", "a"]);
  chat.hear(heard("tool", call("executing")));
  stored("a");
  assert.deepEqual(chat.order, ["1", "2", "b", "call", "a"]);
  // As it is loaded afterwards.
  const other = new Conversation();
  other.precede([message("1"), message("2"), message("b", { tool_calls: calls }), message("a")]);
  assert.deepEqual(other.order, chat.order);
});

test("where it is not known what was taken back, all is to be loaded anew", () => {
  const chat = new Conversation();
  chat.precede([message("2"), message("3")]);
  const cut = (from: string) => chat.hear(heard("crud", { entity: "message", action: "deleted", id: from, from }));
  assert.equal(cut("3"), true);
  assert.deepEqual(chat.order, ["2"]);
  assert.equal(cut("1"), false);
});

test("older pages come before", () => {
  const chat = new Conversation();
  chat.precede([message("3")]);
  assert.deepEqual(chat.precede([message("1"), message("2")]), ["1", "2"]);
  assert.deepEqual(chat.order, ["1", "2", "3"]);
});

test("pieces make a text, by characters and not by units of strings", () => {
  const chat = new Conversation();
  chat.hear(chunk(0, "a😀"));
  chat.hear(chunk(2, "b"));
  assert.equal(said(chat, "m").text, "a😀b");
  assert.equal(said(chat, "m").state, "streaming");
});

test("a piece that does not fit is left out; one that begins anew replaces", () => {
  const chat = new Conversation();
  chat.hear(chunk(0, "one "));
  chat.hear(chunk(9, "lost"));
  assert.equal(said(chat, "m").text, "one ");
  chat.hear(chunk(0, "one two "));
  chat.hear(chunk(8, "three"));
  assert.equal(said(chat, "m").text, "one two three");
});

test("only blocks that changed are other strings", () => {
  const chat = new Conversation();
  chat.hear(
    chunk(0, "a\n\nb", {
      blocks: [
        { index: 0, html: "<p>a</p>" },
        { index: 1, html: "<p>b</p>" },
      ],
    }),
  );
  chat.hear(chunk(4, "c", { blocks: [{ index: 1, html: "<p>bc</p>" }] }));
  assert.deepEqual(said(chat, "m").html, ["<p>a</p>", "<p>bc</p>"]);
});

test("the stored message is the truth, and late pieces change nothing", () => {
  const chat = new Conversation();
  chat.hear(chunk(0, "dra", { reasoning_delta: "hm" }));
  chat.hear(
    heard("message", message("m", { role: "assistant", sender: "ada", content: "final", html: ["<p>final</p>"] })),
  );
  chat.hear(chunk(3, "ft"));
  assert.equal(said(chat, "m").text, "final");
  assert.equal(said(chat, "m").reasoning, "hm");
  assert.equal(said(chat, "m").state, "whole");
});

test("a reply that breaks off says why", () => {
  const chat = new Conversation();
  chat.hear(chunk(0, "half"));
  chat.hear(heard("stream", { phase: "error", message_id: "m", agent_id: "ada", error: "no connection" }));
  assert.deepEqual([said(chat, "m").state, said(chat, "m").error], ["broken", "no connection"]);
});

test("a call goes from its message to its end and never back", () => {
  const chat = new Conversation();
  const calls = [{ id: "call", type: "function", function: { name: "shell_cmd", arguments: '{"command":"ls"}' } }];
  chat.hear(
    heard(
      "message",
      message("m", { role: "assistant", sender: "ada", agent_id: "ada", content: "", tool_calls: calls }),
    ),
  );
  const now = () => chat.entries.get("call") as Called;
  assert.equal(now().isSketch, true);
  chat.hear(heard("tool", call("executing")));
  chat.hear(
    heard("tool", {
      state: "executing",
      phase: "output",
      id: "call",
      agent_id: "ada",
      channel: "stdout",
      delta: "a\n",
    }),
  );
  assert.equal(now().output, "a\n");
  chat.hear(heard("tool", call("completed", { result: "a", duration_ms: 5 })));
  chat.hear(heard("tool", call("executing")));
  assert.deepEqual([now().state, now().result, now().output], ["completed", "a", ""]);
});

test("requests for approval are no messages, and results belong to their calls", () => {
  const chat = new Conversation();
  const request = [{ id: "r", type: "function", function: { name: "client.requestApproval", arguments: "{}" } }];
  chat.hear(heard("message", message("q", { role: "assistant", content: "Execute?", tool_calls: request })));
  chat.hear(heard("message", message("x", { role: "tool", tool_call_id: "call", content: "out" })));
  assert.deepEqual(chat.order, []);
});

test("what was taken back goes, with everything after it", () => {
  const chat = new Conversation();
  chat.precede([message("1"), message("2"), message("3")]);
  chat.hear(heard("crud", { entity: "message", action: "deleted", id: "2", from: "2" }));
  assert.deepEqual(chat.order, ["1"]);
  assert.equal(chat.entries.size, 1);
});

test("what changed is told once", () => {
  const chat = new Conversation();
  chat.precede([message("1")]);
  assert.deepEqual([...chat.takeChanges().ids], ["1"]);
  assert.deepEqual([...chat.takeChanges().ids], []);
  chat.hear(chunk(0, "x"));
  const changes = chat.takeChanges();
  assert.deepEqual([[...changes.ids], changes.reordered], [["m"], true]);
  chat.hear(chunk(1, "y"));
  assert.equal(chat.takeChanges().reordered, false);
});
