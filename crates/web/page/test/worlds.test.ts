// What worlds are called, and what is offered to try in them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "../src/api/types";
import { tricks } from "../src/chat/welcome";
import { namesOf } from "../src/state/worlds";

test("worlds with the same name are told apart by their id", () => {
  const names = namesOf([
    { id: "demo", name: "Demo" },
    { id: "demo-2", name: "Demo" },
    { id: "lab", name: "Lab" },
  ]);
  assert.deepEqual([...names.values()], ["Demo (demo)", "Demo (demo-2)", "Lab"]);
});

test("a trick names an agent that is there, and none where nobody else is", () => {
  const agents = (...ids: string[]) => ids.map((id) => ({ id, name: id }) as Agent);
  const named = (all: string[]) => all.filter((trick) => trick.includes("@"));
  assert.deepEqual(named(tricks(agents("eve", "dan"), "dan")), ["ask @eve what time is it"]);
  assert.deepEqual(named(tricks(agents("eve", "dan"), null)), ["ask @dan what time is it"]);
  assert.deepEqual(named(tricks(agents("eve"), "eve")), []);
});
