// Rules of a world: made, moved and changed by fields or as JSON, tried out before they are saved.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { card, stage } from "../harness.mjs";

async function openPolicy(open) {
  const page = await open("/w/demo/settings");
  await page.getByRole("tab", { name: "Policy" }).click();
  await page.locator(".verdict").getByText("ask").waitFor();
  return page;
}

test("a rule is made by fields, decides what is tried out and is saved", async (context) => {
  const { program, open, problems } = await stage(context);
  const page = await openPolicy(open);
  await page.getByRole("button", { name: "Add a rule" }).click();
  await page.getByText("Deny", { exact: true }).click();
  await page.getByLabel("Program").fill("git");
  await page.getByLabel("Parameters").pressSequentially("push --force");
  await page.getByLabel("Name").fill("no-push");
  await page.getByLabel("Why").fill("People publish.");
  const rule = page.locator(".rule", { hasText: "git push --force" });
  await rule.waitFor();
  await page.getByLabel("Command line").fill("cd x && git push --force");
  await page.locator(".verdict").getByText("deny").waitFor();
  await rule.getByText("decides").waitFor();
  await page.locator(".parts li", { hasText: "git push" }).waitFor();
  assert.equal((await program.api("/api/worlds/demo/policy")).rules?.length ?? 0, 0);
  await page.getByRole("button", { name: "Save rules" }).click();
  await page.locator(".toast", { hasText: "Saved" }).waitFor();
  const { rules } = await program.api("/api/worlds/demo/policy");
  assert.deepEqual(rules, [
    {
      id: "no-push",
      ruling: "deny",
      tool: "shell_cmd",
      matches: [{ pointer: "", command: { program: "git", parameters: ["push", "--force"] } }],
      description: "People publish.",
    },
  ]);
  assert.deepEqual(problems, []);
});

test("what is wrong with a rule stands at the rule, and nothing is saved of it", async (context) => {
  const { open } = await stage(context);
  const page = await openPolicy(open);
  await page.getByRole("button", { name: "allow a command" }).click();
  await page.getByRole("button", { name: "deny a command" }).click();
  await page.locator(".verdict").getByText("deny").waitFor();
  await page.getByLabel("Program").fill("./git");
  await page.locator(".rule", { hasText: "./git" }).locator(".rule-problem", { hasText: "relative path" }).waitFor();
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByText("None yet").waitFor();
});

test("rules are moved by buttons and by keys, copied and removed", async (context) => {
  const { program, open } = await stage(context);
  const rule = (id) => ({ id, ruling: "allow", tool: id });
  await program.api("/api/worlds/demo/policy", { preset: "read_only", rules: ["a", "b", "c"].map(rule) }, "PUT");
  const page = await open("/w/demo/settings");
  await page.getByRole("tab", { name: "Policy" }).click();
  const order = () => page.locator(".rule").evaluateAll((all) => all.map((one) => one.dataset.rule).join(" "));
  await page.locator(".rule").nth(2).waitFor();
  assert.ok(await page.getByLabel(/Read only/).isChecked());
  await page.getByRole("button", { name: "Move a down" }).click();
  assert.equal(await order(), "b a c");
  await page.locator("[data-rule=c] .rule-line").focus();
  await page.keyboard.press("Alt+ArrowUp");
  await page.keyboard.press("Alt+ArrowUp");
  assert.equal(await order(), "c b a");
  await page.getByRole("button", { name: "Menu of b" }).click();
  await page.getByRole("menuitem", { name: "Duplicate" }).click();
  assert.equal(await order(), "c b b-2 a");
  await page.getByRole("button", { name: "Menu of c" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Save rules" }).click();
  await page.locator(".toast", { hasText: "Saved" }).waitFor();
  const saved = await program.api("/api/worlds/demo/policy");
  assert.deepEqual(
    saved.rules.map((one) => one.id),
    ["b", "b-2", "a"],
  );
  assert.equal(saved.preset, "read_only");
});

test("rules go to JSON and back, and calls of other tools are tried out", async (context) => {
  const { open } = await stage(context);
  const page = await openPolicy(open);
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  await page
    .getByLabel("Rules, as a JSON list")
    .fill('[{"id": "notes", "ruling": "allow", "tool": "write_file", "paths": {"within": ["notes"]}}]');
  await page.getByRole("button", { name: "List", exact: true }).click();
  await page.locator(".rule", { hasText: "whose paths lie in" }).waitFor();
  await page.locator(".box").getByLabel("Tool").selectOption("write_file");
  const given = page.getByLabel("Arguments, as JSON");
  await given.fill('{"path": "notes/a.md", "content": "x"}');
  await page.locator(".verdict").getByText("allow").waitFor();
  await given.fill('{"path": "other/a.md", "content": "x"}');
  await page.locator(".verdict").getByText("ask").waitFor();
});

for (const [width, scheme] of [
  [1280, "light"],
  [360, "dark"],
]) {
  test(`every kind of condition can be used at ${width} pixels, ${scheme}`, async (context) => {
    const { program, open } = await stage(context);
    const matches = [
      { command: { program: "git", parameters: ["push"] } },
      { paths: { within: ["notes"] } },
      { annotations: { destructive: true } },
      { pointer: "/path", glob: "*.md" },
      { pointer: "/path", regex: "[a-z]+" },
      { pointer: "/path", equals: { a: 1 } },
    ];
    const rules = [{ id: "all", ruling: "deny", tool: "shell_cmd", agent: "ada", matches, description: "why" }];
    await program.api("/api/worlds/demo/policy", { preset: "ask", rules }, "PUT");
    const page = await open("/w/demo/settings#policy", { viewport: { width, height: 800 }, colorScheme: scheme });
    await page.locator(".rule-line").click();
    await page.locator(".verdict").waitFor();
    assert.equal(await page.locator(".condition").count(), matches.length);
    await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8"));
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(
      violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)}`),
      [],
    );
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    // Nothing was changed by looking.
    assert.ok(await page.getByRole("button", { name: "Save rules" }).isDisabled());
  });
}

test("what people granted for ever is named beside the rules, and can be taken back", async (context) => {
  const { program, open } = await stage(context);
  await program.say("run date");
  const page = await open("/inbox");
  await card(page, "date").waitFor();
  const [asked] = await program.waiting();
  const { id, agent_id, tool } = asked;
  await program.api(`/api/approvals/${id}`, { decision: "approve", scope: "always", match: 0, agent_id, tool });
  await page.goto(`${program.url}/w/demo/settings#policy`);
  await page.getByRole("link", { name: "1 permission" }).click();
  await page.getByRole("tab", { name: "Permissions", selected: true }).waitFor();
  await page.getByText("exactly for date").waitFor();
  await page.getByRole("button", { name: "Take back" }).click();
  await page.getByText("Nobody approved anything for ever.").waitFor();
  await program.api("/api/worlds/demo/policy").then((found) => assert.deepEqual(found.granted, []));
});

test("what is written while rules are saved stays, and is saved next", async (context) => {
  const { program, open } = await stage(context);
  const page = await openPolicy(open);
  await page.getByRole("button", { name: "deny a command" }).click();
  await page.getByLabel("Why").fill("first");
  const held = [];
  await page.route("**/api/worlds/demo/policy", (route) =>
    route.request().method() === "PUT" ? held.push(route) : route.continue(),
  );
  const save = page.getByRole("button", { name: "Save rules" });
  await save.click();
  while (held.length < 1) await new Promise((done) => setTimeout(done, 20));
  await page.getByLabel("Why").fill("first and second");
  await held[0].continue();
  await page.locator(".toast", { hasText: "Saved" }).waitFor();
  assert.equal(await page.getByLabel("Why").inputValue(), "first and second");
  const why = () => program.api("/api/worlds/demo/policy").then((found) => found.rules[0].description);
  assert.equal(await why(), "first");
  await page.unroute("**/api/worlds/demo/policy");
  await save.click();
  await page.waitForFunction(() => document.querySelectorAll(".toast-good").length > 1);
  assert.equal(await why(), "first and second");
  assert.ok(await save.isDisabled());
});

test("permissions that could not be loaded are not said to be none, and those of many chats are all there", async (context) => {
  const { program, open } = await stage(context);
  for (let count = 0; count < 205; count += 1) await program.api("/api/worlds/demo/chats", {});
  const oldest = (await program.api("/api/worlds/demo/chats?limit=1000")).data.sort((a, b) =>
    a.updated_at < b.updated_at ? -1 : 1,
  )[0];
  await program.api(`/api/worlds/demo/chats/${oldest.id}/messages`, { content: "run date" });
  while ((await program.waiting()).length === 0) await new Promise((done) => setTimeout(done, 50));
  const [{ id, agent_id, tool }] = await program.waiting();
  await program.api(`/api/approvals/${id}`, { decision: "approve", scope: "session", match: 0, agent_id, tool });
  // Of the one that has the permission it is asked last of all.
  for (let count = 0; count < 205; count += 1) await program.api("/api/worlds/demo/chats", {});
  const page = await open("/stats");
  let isBroken = true;
  await page.route(`**/chats/${oldest.id}/grants*`, (route) =>
    isBroken ? route.fulfill({ status: 500, body: "{}" }) : route.continue(),
  );
  await page.goto(`${program.url}/w/demo/settings#permissions`);
  await page.getByText("They could not be loaded.").waitFor();
  assert.equal(await page.getByText("None.", { exact: true }).count(), 0);
  isBroken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator(".box", { hasText: "exactly for date" }).waitFor();
});
