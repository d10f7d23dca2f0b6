// Saving a form: what is typed while it is saved is not overwritten by the answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { unlessTyped } from "../src/worlds/saving";

test("what was typed while it was saved stays, all else is as the server has it", () => {
  const sent = { name: " Demo ", limit: "5", tools: ["a"] };
  const saved = { name: "Demo", limit: "5", tools: ["a"] };
  assert.deepEqual(unlessTyped(sent, sent, saved), saved);
  const now = { ...sent, limit: "50", tools: ["a", "b"] };
  assert.deepEqual(unlessTyped(now, sent, saved), { name: "Demo", limit: "50", tools: ["a", "b"] });
});
