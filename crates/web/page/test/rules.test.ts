// Rules in the editor: whatever way they are written they mean the same when they are written back.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../src/api/types";
import {
  blankRule,
  conditionWords,
  freeName,
  isRead,
  isUnfinished,
  moved,
  problemWords,
  readRule,
  readWords,
  ruleOf,
  writeRule,
  writeWords,
} from "../src/worlds/rules";

test("every kind of condition is read and written back as it was", () => {
  const rule: Json = {
    id: "all",
    ruling: "deny",
    tool: "*",
    agent: "ada",
    matches: [
      { command: { program: "git", parameters: ["push"] } },
      { command: { program: "make" } },
      { paths: { within: ["notes", "src/**"] } },
      { pointer: "/path", paths: { within: ["."] } },
      { annotations: { read_only: true, destructive: false } },
      { pointer: "/url", glob: "https://*" },
      { pointer: "/name", regex: "[a-z]+" },
      { pointer: "/depth", equals: 3 },
      { equals: { a: [1, null] } },
    ],
    description: "why",
    examples: { must_match: [{ tool: "x" }] },
  };
  const read = readRule(rule);
  assert.ok(isRead(read));
  assert.deepEqual(writeRule(read), rule);
});

test("conditions beside the list become part of it", () => {
  const read = readRule({
    id: "a",
    ruling: "allow",
    tool: "write_file",
    command: { program: "ls" },
    paths: { pointer: "/to", within: ["notes"] },
    annotations: { idempotent: true },
  });
  assert.deepEqual(writeRule(read), {
    id: "a",
    ruling: "allow",
    tool: "write_file",
    matches: [
      { command: { program: "ls" } },
      { pointer: "/to", paths: { within: ["notes"] } },
      { annotations: { idempotent: true } },
    ],
  });
});

test("a rule with something that nobody knows is kept word for word, not half read", () => {
  for (const json of [
    7,
    { id: "a", ruling: "maybe", tool: "x" },
    { id: "a", ruling: "allow", tool: "x", matches: [{ glob: "a", regex: "b" }] },
    { id: "a", ruling: "allow", tool: "x", command: { program: "ls", shell: true } },
    { id: "a", ruling: "allow", tool: "x", matches: [{ annotations: { safe: true } }] },
  ] as Json[]) {
    const read = readRule(json);
    assert.equal(isRead(read), false, JSON.stringify(json));
    assert.deepEqual(writeRule(read), json);
  }
  const more = { id: "a", ruling: "allow", tool: "x", comand: { program: "ls" } };
  assert.deepEqual(writeRule(readRule(more)), more, "what is misspelt goes to the server, which says so");
});

test("words with spaces and quotes come back as they were", () => {
  for (const words of [["push", "origin"], ["-m", "two words"], ['say "hi"', "", "back\\slash"], []]) {
    assert.deepEqual(readWords(writeWords(words)), words);
  }
  assert.deepEqual(readWords('  -m   "a b"  c '), ["-m", "a b", "c"]);
});

test("conditions are said in words, hidden characters shown", () => {
  assert.deepEqual(conditionWords({ kind: "command", program: "git", parameters: ["push", "a b"] }), {
    before: "that runs",
    code: 'git push "a b"',
  });
  const exact = (value: Json) => conditionWords({ kind: "equals", pointer: "", value }).code;
  assert.equal(exact({ command: "date", parameters: ["-u"] }), "date -u");
  assert.equal(exact({ command: "date", stdin: "x" }), '{"command":"date","stdin":"x"}', "nothing is left out");
  assert.equal(exact({ path: "a", content: "b" }), '{"path":"a","content":"b"}');
  const hidden = conditionWords({ kind: "glob", pointer: "/x", text: "a\u202Eb" });
  assert.deepEqual(hidden, { before: "whose x is like", code: "a\\u{202E}b" });
});

test("names are free, rules move and problems find their rule", () => {
  const first = blankRule([]);
  const second = blankRule([first]);
  assert.deepEqual([first.id, second.id], ["rule", "rule-2"]);
  assert.equal(freeName("other", [first]), "other");
  assert.deepEqual(moved(["a", "b", "c"], 0, 2), ["b", "c", "a"]);
  assert.deepEqual(moved(["a", "b", "c"], 2, -1), ["c", "a", "b"]);
  assert.equal(ruleOf("rule rule-2: `program` is empty", [first, second]), second.key);
  assert.equal(ruleOf("policy.rules[0] has no field `x`", [first, second]), first.key);
  assert.equal(
    problemWords("The policy is refused: rule rule-2: `program` is empty; name a program"),
    "`program` is empty; name a program",
  );
  assert.ok(isUnfinished(first));
  assert.equal(ruleOf("something else", [first, second]), null);
});
