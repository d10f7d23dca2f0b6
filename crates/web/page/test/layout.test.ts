// The picture of who called whom can be read: names whole, numbers apart.
import assert from "node:assert/strict";
import { test } from "node:test";
import { broken, overlap, picture, type Edge } from "../src/history/layout";

test("no number lies over another or over a name, with six agents that all call each other", () => {
  const agents = ["ada", "bob", "the-one-with-the-long-name-of-all", "dan", "eve", "fay"];
  const tools = ["⚙ shell_cmd", "⚙ read_file", "⚙ mcp__notes__search_everything_there_is"];
  const edges: Edge[] = agents.flatMap((from) => [
    ...[...agents.filter((to) => to !== from), ...tools, "human"].map((to) => ({ from, to, count: 12 })),
    { from: "human", to: from, count: 3 },
  ]);
  const { nodes, arrows, width, height } = picture(edges);
  assert.equal(arrows.length, edges.length);
  const boxes = [...nodes, ...arrows.map((arrow) => arrow.label)];
  boxes.forEach((one, at) => {
    for (const other of boxes.slice(at + 1)) assert.ok(!overlap(one, other), JSON.stringify([one, other]));
    assert.ok(one.x - one.width / 2 >= 0 && one.x + one.width / 2 <= width, JSON.stringify(one));
    assert.ok(one.y - one.height / 2 >= 0 && one.y + one.height / 2 <= height, JSON.stringify(one));
  });
});

test("a long name is broken into lines, and cut only where it is longer than any", () => {
  assert.deepEqual(broken("bob"), ["bob"]);
  for (const name of ["the-one-with-the-long-name-of-all", "⚙ mcp__notes__search_everything_there_is"])
    assert.equal(broken(name).join(""), name);
  assert.ok(broken("x".repeat(90)).join("").endsWith("…"));
});
