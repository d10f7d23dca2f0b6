// What the page shows stays true through reloads, lost connections and a program that is killed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

async function slowWorld(program) {
  await program.api("/api/worlds", { name: "Slow", agents: [{ id: "eve", model: "groq/slow" }] });
  return program.chat("slow");
}

test("a reload in the middle of a reply shows all of it", async (context) => {
  const { program, model, open } = await stage(context, { slow: true });
  const chat = await slowWorld(program);
  const page = await open(`/w/slow/c/${chat.id}`);
  const asked = model.next();
  await program.say("tell me", "slow");
  const reply = await asked;
  reply.say("first half ");
  await page.getByText("first half").waitFor();
  await page.reload();
  await page.getByText("first half").waitFor();
  reply.say("and **second** half");
  await page.locator(".prose", { hasText: "first half and second half" }).waitFor();
  reply.end();
  await page.locator(".message:not(.mine) .message-actions").waitFor({ state: "attached" });
  assert.equal(await page.locator(".message").count(), 2);
});

test("the program is killed and started again: nothing is missing, nothing twice", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/");
  await page.getByLabel("Message", { exact: true }).fill("run date");
  await page.keyboard.press("Enter");
  await card(page, "date").waitFor();
  await program.kill();
  await page.locator(".banner", { hasText: "cannot be reached" }).waitFor();
  await program.start();
  await program.say("count to 3");
  await page.locator(".message.mine", { hasText: "count to 3" }).waitFor();
  await page.locator(".banner").waitFor({ state: "detached" });
  const waiting = await armed(card(page, "date"));
  await waiting.getByRole("button", { name: /Approve once/ }).click();
  await page.locator(".call", { hasText: "date" }).getByText("Done").waitFor();
  await page.locator(".message:not(.mine)").last().getByText("1 2 3").waitFor();
  assert.equal(await page.locator(".message.mine", { hasText: "run date" }).count(), 1);
  assert.equal(await page.locator(".call").count(), 1);
});

test("what cannot be sent waits, and is sent once when the server is back", async (context) => {
  const { program, open } = await stage(context);
  const chat = await program.chat();
  const page = await open(`/w/demo/c/${chat.id}`);
  await page.getByText("Who is here").waitFor();
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("do not lose me");
  await program.kill();
  await page.keyboard.press("Enter");
  const waits = page.locator(".outbox-item", { hasText: "do not lose me" });
  await waits.getByText("Not sent yet").waitFor();
  assert.equal(await field.inputValue(), "");
  await field.fill("nor me");
  await page.keyboard.press("Enter");
  await program.start();
  await page.locator(".message.mine", { hasText: "nor me" }).waitFor();
  await waits.waitFor({ state: "detached" });
  const { data } = await program.api(`/api/worlds/demo/chats/${chat.id}/messages`);
  assert.deepEqual(
    data.filter((one) => one.role === "user").map((one) => one.content),
    ["do not lose me", "nor me"],
  );
});

test("what waits can be taken back and written otherwise", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("first");
  await program.kill();
  await page.keyboard.press("Enter");
  await field.fill("second");
  await page.locator(".outbox-item").getByRole("button", { name: "Take back" }).click();
  assert.equal(await field.inputValue(), "first\nsecond");
  assert.equal(await page.locator(".outbox-item").count(), 0);
});

test("somebody who reads further up is not pulled down, and is told of what is new", async (context) => {
  const { program, open } = await stage(context);
  for (let count = 0; count < 4; count += 1) await program.say("help");
  const page = await open("/");
  await page.getByText("These are my tricks").nth(3).waitFor({ state: "attached" });
  const list = page.locator(".list");
  await page.waitForFunction(() => {
    const found = document.querySelector(".list");
    return found.scrollHeight - found.scrollTop - found.clientHeight < 5;
  });
  await list.evaluate((one) => (one.scrollTop = 200));
  await page.waitForFunction(() => document.querySelector(".to-end"));
  await program.say("count to 5");
  await page.getByRole("button", { name: "New messages" }).waitFor();
  assert.ok(Math.abs((await list.evaluate((one) => one.scrollTop)) - 200) < 5);
  await page.getByRole("button", { name: "New messages" }).click();
  await page.locator(".prose", { hasText: "1 2 3 4 5" }).last().waitFor();
  await page.waitForFunction(() => {
    const found = document.querySelector(".list");
    return found.scrollHeight - found.scrollTop - found.clientHeight < 5;
  });
});
