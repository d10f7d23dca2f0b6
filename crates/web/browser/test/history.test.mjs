// Looking back: calls as one line each, found by what they were, and everything there is in the end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("a call is one line that tells what became of it, and is found by its state", async (context) => {
  const { program, open, problems } = await stage(context);
  await program.say("run date");
  const page = await open("/w/demo/history");
  const line = page.locator(".event-call", { hasText: "date" });
  await line.getByText("waits for approval").waitFor();
  assert.equal(await line.count(), 1);
  const [asked] = await program.waiting();
  await program.api(`/api/approvals/${asked.id}`, {
    decision: "deny",
    reason: "not today",
    agent_id: asked.agent_id,
    tool: asked.tool,
  });
  await line.locator(".event-end", { hasText: "denied" }).waitFor();
  assert.equal(await line.count(), 1);
  await line.locator("summary").click();
  await line.locator(".steps li", { hasText: "not today" }).waitFor();
  await page.getByLabel("State").selectOption("completed");
  await page.getByText("Nothing of that kind happened").waitFor();
  await page.getByLabel("State").selectOption("denied");
  await line.waitFor();
  assert.equal(await page.locator(".event").count(), 1);
  await page.getByText("This is everything since the world was made").waitFor();
  assert.deepEqual(problems, []);
});

test("the newest of a long history comes first, and the way back to its beginning is there", async (context) => {
  const { program, open } = await stage(context);
  const chat = await program.chat();
  const to = `/api/worlds/demo/chats/${chat.id}/messages`;
  for (let number = 1; number <= 1_050; number += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, at) => program.api(to, { content: `note ${number + at}`, sender: "system" })),
    );
  }
  const page = await open("/w/demo/history");
  await page.getByText("There are older ones").waitFor();
  assert.match(await page.locator(".how-far").textContent(), /1,000 events are here/);
  await page.getByRole("button", { name: "Load all" }).click();
  await page.getByText("This is everything since the world was made").waitFor();
  const show = page.getByRole("button", { name: "Show more of them" });
  while (await show.isVisible()) await show.click();
  const notes = await page.locator(".event-message .event-words").allTextContents();
  const numbers = notes.map((text) => Number(/note (\d+)/.exec(text)?.[1])).filter(Boolean);
  assert.equal(new Set(numbers).size, 1_050);
  assert.equal(numbers.length, 1_050);
});

test("the audit says where something was, and offers what can be filtered by", async (context) => {
  const { program, open } = await stage(context);
  await program.say("run date");
  const chat = await program.chat();
  const page = await open("/audit");
  const row = page.locator(".audit tr", { hasText: "requested" }).first();
  assert.equal(await row.getByRole("link", { name: "Demo", exact: true }).getAttribute("href"), "/w/demo");
  const title = row.locator(`a[href="/w/demo/c/${chat.id}"]`);
  await title.waitFor();
  await page.waitForFunction((one) => one.textContent !== "chat", await title.elementHandle());
  for (const [label, value] of [
    ["Agent", "bob"],
    ["Tool", "shell_cmd"],
  ]) {
    const list = await page.getByLabel(label).getAttribute("list");
    await page.locator(`#${list} option[value=${value}]`).waitFor({ state: "attached" });
  }
});
