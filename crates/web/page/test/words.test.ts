// Hidden characters, mentions, commands in words.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "../src/api/types";
import { addressed, begunMention, completions } from "../src/mentions";
import { age, callLine, duration, glimpse, reveal, revealLine } from "../src/words";

const agent = (id: string, name = id): Agent => ({
  id,
  name,
  instructions: "",
  tools: [],
  auto_reply: true,
  parallel_tool_calls: true,
});
const AGENTS = [agent("ada", "Ada"), agent("bob", "Robert")];

test("what cannot be seen is made visible", () => {
  for (const [hidden, code] of [
    ["\0", "0"],
    ["\r", "D"],
    ["\u00a0", "A0"],
    ["\u00ad", "AD"],
    ["\u034f", "34F"],
    ["\u200b", "200B"],
    ["\u202e", "202E"],
    ["\u2800", "2800"],
    ["\u3000", "3000"],
    ["\ue000", "E000"],
    ["\ufeff", "FEFF"],
    ["\u{e0041}", "E0041"],
  ]) {
    assert.equal(reveal(`a${hidden}b`), `a\\u{${code}}b`);
  }
  assert.equal(reveal("a b\n\tc"), "a b\n\tc");
  assert.equal(revealLine("a\nb"), "a\\nb");
  assert.equal(glimpse(" a:\n\n1. b\u202ec "), "a: 1. b\\u{202E}c");
});

test("mentions address only at the beginning of a line", () => {
  assert.deepEqual(addressed("@ada, look", AGENTS), ["ada"]);
  assert.deepEqual(addressed("hi @ADA @robert both", AGENTS), ["ada", "bob"]);
  assert.deepEqual(addressed("see\n  @bob this", AGENTS), ["bob"]);
  assert.deepEqual(addressed("I told @ada so; a@ada.de @nobody", AGENTS), []);
});

test("a mention is completed where one is begun", () => {
  assert.deepEqual(begunMention("hi @a", 5), { from: 3, typed: "a" });
  assert.equal(begunMention("mail a@b", 8), null);
  assert.deepEqual(
    completions("rob", AGENTS).map((one) => one.id),
    ["bob"],
  );
  assert.equal(completions("", AGENTS).length, 2);
});

test("calls are one line", () => {
  assert.equal(callLine({ command: "ls", parameters: ["-l", "my file"] }), 'ls -l "my file"');
  assert.equal(callLine({ path: "a\u202e\nb" }), "a\\u{202E}\\nb");
  assert.equal(callLine({ a: 1, b: 2 }), '{"a":1,"b":2}');
});

test("times are short", () => {
  assert.deepEqual([40, 1_250, 65_000].map(duration), ["40 ms", "1.3 s", "1 min 5 s"]);
  assert.equal(age("2026-11-16T07:00:00Z", Date.parse("2026-11-16T10:00:00Z")), "3 h");
});
