// Making and changing worlds and agents, and what happens when two people do so at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("a world is made of a template and opens with a chat", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/worlds");
  await page.getByRole("button", { name: "New world" }).click();
  await page.getByLabel("Name").fill("Text lab");
  await page.getByLabel(/Pair/).check();
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/w\/text-lab\/c\/chat_/);
  await page.getByText("@critic", { exact: true }).waitFor();
  const world = await program.api("/api/worlds/text-lab");
  assert.deepEqual(world.agents.map((agent) => agent.id).sort(), ["critic", "writer"]);
  assert.ok(world.policy.rules.length > 0);
});

test("a change that somebody overtook is not lost in silence", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/w/demo/settings");
  await page.locator(".agent-box").first().getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Instructions").fill("Be brief.");
  await program.api("/api/worlds/demo", { description: "changed elsewhere" }, "PATCH");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/What you wrote is still here/).waitFor();
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByLabel("Instructions").fill("Be brief.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const world = await program.api("/api/worlds/demo");
  assert.equal(world.agents[0].instructions, "Be brief.");
  assert.equal(world.description, "changed elsewhere");
});

test("rules are tried out before they are saved", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/w/demo/settings");
  await page.getByRole("tab", { name: "Policy" }).click();
  const verdict = page.locator(".verdict");
  await verdict.getByText("ask").waitFor();
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  await page
    .getByLabel("Rules, as a JSON list")
    .fill(
      '[{"id": "no-push", "ruling": "deny", "tool": "shell_cmd", "command": {"program": "git", "parameters": ["push"]}}]',
    );
  await verdict.getByText("deny").waitFor();
  assert.equal((await program.api("/api/worlds/demo/policy")).rules?.length ?? 0, 0);
  await page.getByRole("button", { name: "Save rules" }).click();
  await page.locator(".toast", { hasText: "Saved" }).waitFor();
  assert.equal((await program.api("/api/worlds/demo/policy")).rules[0].id, "no-push");
});

test("a world is exported, deleted and imported again", async (context) => {
  const { program, open } = await stage(context);
  await program.say("hello");
  const page = await open("/w/demo/settings");
  await page.getByRole("tab", { name: "Export" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).click(),
  ]);
  const file = await download.path();
  await page.getByRole("button", { name: "Delete this world" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("demo");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL(/\/worlds$/);
  await page.locator("input[type=file]").setInputFiles({
    name: "demo.json",
    mimeType: "application/json",
    buffer: (await import("node:fs")).readFileSync(file),
  });
  await page.waitForURL(/\/w\/demo$/);
  assert.equal((await program.api("/api/worlds/demo/chats")).data.length, 1);
});

test("worlds of the same name are told apart wherever one is chosen", async (context) => {
  const { program, open } = await stage(context);
  const other = await program.api("/api/worlds", { id: "demo-two", name: "Demo", agents: [] });
  const page = await open("/audit");
  await page.getByRole("region", { name: `Demo (${other.id})` }).waitFor();
  await page.locator(".filters").getByLabel("World").selectOption({ label: `Demo (${other.id})` });
  await page.getByRole("navigation").getByRole("link", { name: "Worlds" }).click();
  await page.getByRole("heading", { name: "Demo (demo)" }).waitFor();
});

test("the buttons of a long dialog are in view", async (context) => {
  const { open } = await stage(context);
  const page = await open("/w/demo/settings", { viewport: { width: 1280, height: 480 } });
  const dialog = page.getByRole("dialog");
  const bottom = async (place) => place.boundingBox().then((box) => box.y + box.height);
  const isInView = async (name) => {
    for (const scroll of [0, 10_000]) {
      await dialog.evaluate((one, top) => (one.scrollTop = top), scroll);
      const gap = (await bottom(dialog)) - (await bottom(dialog.getByRole("button", { name })));
      assert.ok(gap >= 8, `${name}: ${gap} at ${scroll}`);
    }
  };
  await page.locator(".agent-box").first().getByRole("button", { name: "Edit" }).click();
  await isInView("Save");
  await page.goto(new URL("/worlds", page.url()).href);
  await page.getByRole("button", { name: "New world" }).click();
  await isInView("Create");
});
