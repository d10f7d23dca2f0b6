// JSON to the letter: nothing that others wrote is another number, or another name, after it was shown and sent.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSame, print, readAnswer, readWritten, Source } from "../src/api/json";
import { readArguments, readCommand } from "../src/inbox/rules";
import type { Approval, Json } from "../src/api/types";

const EXACT = ["9007199254740993", "-0", "1.0", "1.50", "1e400", "1E3", "123456789012345678901234567890", "0.1e-7"];

test("numbers are written as they were read", () => {
  for (const number of EXACT) {
    const text = `{"arguments":{"n":[${number}]}}`;
    assert.equal(print(readAnswer(text)), text);
    assert.equal(print(readWritten(`[${number}]`)), `[${number}]`);
  }
});

test("numbers of the server's own can be counted with", () => {
  const read = readAnswer('{"seq":12,"cost":1.0,"arguments":{"cost":1.0},"agents":[{"temperature":1.0}]}') as {
    [name: string]: Json;
  };
  assert.equal(read["cost"], 1);
  assert.deepEqual(read["agents"], [{ temperature: 1 }]);
  assert.deepEqual(read["arguments"], { cost: new Source("1.0") });
  assert.deepEqual(readAnswer('{"x":1.0}', "all"), { x: new Source("1.0") });
});

test("what a browser reads is read alike", () => {
  for (const text of [
    '{"a":[1,2.5,true,false,null,"x\\n\\u00e9\\\\\\"y"],"b":{},"c":[]}',
    ' [ 1 , { "a" : -1.5e-7 } ] ',
    '"text with \\\\\\\\"',
    "[[[[]]]]",
    '{"__proto__":{"a":1},"constructor":2}',
  ]) {
    assert.equal(JSON.stringify(JSON.parse(text)), print(readAnswer(text)));
    assert.deepEqual(JSON.parse(print(readWritten(text))), JSON.parse(text));
  }
  const nested = { a: [1, { b: null }], c: {}, d: [], e: "é" };
  assert.equal(print(nested, 2), JSON.stringify(nested, null, 2));
  assert.equal(print({ a: undefined, b: [undefined] }), JSON.stringify({ a: undefined, b: [undefined] }));
});

test("what is no JSON, or says one thing twice, is refused with the line", () => {
  for (const text of ["", "{", "[1,]", '{"a":1,}', "{a:1}", "01", "1.", "+1", "nul", '"a', '"\t"', "[1] 2", "NaN"])
    assert.throws(() => readWritten(text), SyntaxError, text);
  assert.throws(() => readWritten('{"a": 1,\n "b": 2, "a": 3}'), /"a" stands there twice \(line 2\)/);
  assert.throws(() => readWritten('{"a": {"b": 1, "\\u0062": 2}}'), /"b" stands there twice/);
  assert.throws(() => readWritten("[".repeat(10_000)), /too deeply/);
});

test("the same is the same, whatever made it", () => {
  assert.ok(isSame(readWritten('{"a": 1.0}'), { a: new Source("1.0") }));
  assert.ok(!isSame(readWritten('{"a": 1.0}'), { a: 1 }));
});

test("arguments that somebody wrote are sent letter by letter", () => {
  const text = '{ "id": 9007199254740993,\n  "rate": 1.0 }';
  const read = readArguments({ form: null } as Approval, text);
  assert.ok("value" in read);
  assert.equal(print({ decision: "approve", arguments: read.value }), `{"decision":"approve","arguments":${text}}`);
  const twice = readArguments({ form: null } as Approval, '{"path": "a", "path": "b"}');
  assert.ok("problem" in twice && /twice/.test(twice.problem));
});

test("a command shows the other arguments as they are", () => {
  const shown = '{"command":"sleep","timeout":9007199254740993,"rate":1.0}';
  assert.deepEqual(readCommand({ tool: "shell_cmd", shown } as Approval)?.more, [
    ["timeout", "9007199254740993"],
    ["rate", "1.0"],
  ]);
});
