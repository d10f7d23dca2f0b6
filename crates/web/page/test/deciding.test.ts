// What may decide and what may not.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Approval } from "../src/api/types";
import { Source } from "../src/api/json";
import { answerOf, meaningOf } from "../src/inbox/answers";
import { diffLines } from "../src/inbox/diff";
import { hasDigest, isWhole, offers, readArguments, readCommand, risky, sandboxRisk } from "../src/inbox/rules";

function approval(change: Partial<Approval> = {}): Approval {
  return {
    id: "apr",
    state: "pending",
    world_id: "w",
    chat_id: "c",
    agent_id: "ada",
    tool_call_id: "call",
    tool: "shell_cmd",
    arguments: { command: "ls" },
    message: "Execute",
    shown: '{"command":"ls"}',
    created_at: "2026-01-01T00:00:00Z",
    options: ["deny", "approve_once", "approve_session", "approve_always"],
    suggested_matches: [{ label: "exactly this call", matches: [] }],
    ...change,
  };
}

test("always is not offered for what is not shown in full", () => {
  assert.equal(offers(approval(), "always"), true);
  for (const shown of ["… 12 more characters not shown", '{"key":"[secret masked: 20 characters]"}']) {
    assert.equal(isWhole(approval({ shown })), false);
    assert.equal(offers(approval({ shown }), "always"), false);
    assert.equal(offers(approval({ shown }), "session"), true);
  }
  assert.equal(offers(approval({ preview: "… 3 more lines of the diff are not shown" }), "always"), false);
});

test("never more is offered than the server did", () => {
  assert.equal(offers(approval({ options: ["deny", "approve_once"] }), "session"), false);
  assert.equal(offers(approval({ options: ["deny"] }), "once"), false);
  assert.equal(offers(approval({ form: {} }), "session"), false);
  assert.equal(offers(approval({ suggested_matches: [] }), "always"), false);
});

test("arguments are JSON objects without masks", () => {
  assert.deepEqual(readArguments(approval(), '{"command":"date"}'), { value: new Source('{"command":"date"}') });
  for (const text of ["{", "[]", '"x"', '{"key":"[secret masked: 20 characters]"}'])
    assert.ok("problem" in readArguments(approval(), text), text);
});

test("a command is shown as a line, or not at all", () => {
  const read = (shown: unknown) => readCommand(approval({ shown: JSON.stringify(shown) }));
  assert.equal(read({ command: "ls", parameters: ["-l", "my file"] })?.text, 'ls -l "my file"');
  assert.equal(read({ command: "ls", parameters: ["a\u202eb"] })?.text, 'ls "a\\u{202E}b"');
  assert.deepEqual(read({ script: "a\nb", timeout_seconds: 3 }), { text: "a\nb", more: [["timeout_seconds", "3"]] });
  assert.equal(read({ command: "ls", script: "x" }), null);
  assert.equal(read({ command: "ls", parameters: "x" }), null);
  assert.equal(readCommand(approval({ tool: "write_file" })), null);
});

test("what can destroy something is named", () => {
  assert.deepEqual(risky(["/bin/rm", "ls", "rm", "mkfs.ext4"]), ["rm", "mkfs.ext4"]);
  assert.ok(sandboxRisk("off") && sandboxRisk("on, with network"));
  assert.equal(sandboxRisk("on, no network"), null);
});

test("letters mean only what is offered", () => {
  const meanings = (letters: string, change: Partial<Approval> = {}) =>
    [...letters].map((letter) => meaningOf(answerOf(letter, approval(change)))).join(" ");
  assert.equal(meanings("oy"), "decides decides");
  assert.equal(meanings("saedn"), "opens opens opens opens opens");
  assert.equal(meanings("jkl"), "goes goes goes");
  assert.equal(meanings("x1?"), "nothing nothing nothing");
  assert.equal(meanings("sa", { options: ["deny", "approve_once"] }), "nothing nothing");
  assert.equal(meanings("oed", { options: ["deny"] }), "nothing nothing opens");
  // A question is answered with words, never by one letter.
  assert.equal(meanings("oe", { form: {} }), "opens opens");
});

test("only what stands before the first hunk of a diff names the file", () => {
  const kinds = (text: string) => diffLines(text).map((line) => line.kind);
  assert.deepEqual(kinds("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n--- i\n+++i\n\n[cut: 3 more lines]\n"), [
    "file",
    "file",
    "hunk",
    "same",
    "removed",
    "added",
    "same",
    "note",
  ]);
  assert.deepEqual(kinds("no change: `f` has this content already"), ["note"]);
});

test("a digest is known from other facts", () => {
  assert.equal(hasDigest(`/usr/bin/date sha256:${"0f".repeat(32)}`), true);
  assert.equal(hasDigest("on, without network, in /srv/facade/deadbeef"), false);
});
