// A chat with many messages: it opens at its end, is loaded backwards as somebody reads, and never draws all of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

const MANY = 240;

test("a long chat opens at its end and is read back to its beginning", async (context) => {
  const { program, open, problems } = await stage(context);
  await program.api("/api/worlds", { name: "Long", agents: [] });
  const chat = await program.chat("long");
  const path = `/api/worlds/long/chats/${chat.id}/messages`;
  // Each is followed by a notice that nobody lives there.
  for (let number = 0; number < MANY; number += 1)
    await program.api(path, { content: `message ${number} ${"words ".repeat(number % 40)}` });
  const page = await open(`/w/long/c/${chat.id}`);
  await page.locator(".message", { hasText: `message ${MANY - 1}` }).waitFor();
  await page.waitForFunction(() => {
    const list = document.querySelector(".list");
    return list.scrollHeight - list.scrollTop - list.clientHeight < 5;
  });
  const list = page.locator(".list");
  await list.hover();
  const first = page.locator(".message", { hasText: /message 0\b/ });
  let before = Infinity;
  while ((await first.count()) === 0) {
    await page.mouse.wheel(0, -1500);
    // One frame, so that what was loaded is drawn.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    // What is looked at never jumps forward by itself.
    const seen = await page.evaluate(() => {
      const top = document.querySelector(".list").getBoundingClientRect().top;
      const entry = [...document.querySelectorAll(".message, .run-gap")].find(
        (one) => one.getBoundingClientRect().bottom > top,
      );
      return Number(/message (\d+)/.exec(entry?.textContent ?? "")?.[1] ?? -1);
    });
    if (seen < 0) continue;
    assert.ok(seen <= before + 1, `from ${before} to ${seen}`);
    before = seen;
    assert.ok((await page.locator(".entry").count()) < 250, "only what is near is drawn");
  }
  await page.getByRole("button", { name: "To the end" }).click();
  await page.locator(".message", { hasText: `message ${MANY - 1}` }).waitFor();
  assert.deepEqual(problems, []);
});

test("a link leads to a message far back", async (context) => {
  const { program, open } = await stage(context);
  await program.api("/api/worlds", { name: "Long", agents: [] });
  const chat = await program.chat("long");
  const path = `/api/worlds/long/chats/${chat.id}/messages`;
  for (let number = 0; number < MANY; number += 1) await program.api(path, { content: `message ${number}` });
  const { data } = await program.api(`${path}?limit=10`);
  const page = await open(`/w/long/c/${chat.id}/m/${data[4].id}`);
  const wanted = page.locator(".message.marked", { hasText: data[4].content });
  await wanted.waitFor();
  assert.ok(
    await wanted.evaluate((one) => {
      const box = one.getBoundingClientRect();
      return box.top >= 0 && box.bottom <= innerHeight;
    }),
  );
});

test("what somebody sends is in view, also when they were reading far above", async (context) => {
  const { program, open } = await stage(context);
  await program.api("/api/worlds", { name: "Long", agents: [] });
  const chat = await program.chat("long");
  const path = `/api/worlds/long/chats/${chat.id}/messages`;
  for (let number = 0; number < 40; number += 1) await program.api(path, { content: `message ${number}` });
  const page = await open(`/w/long/c/${chat.id}`);
  await page.locator(".message", { hasText: "message 39" }).waitFor();
  await page.locator(".list").hover();
  await page.mouse.wheel(0, -1500);
  await page.getByRole("button", { name: "To the end" }).waitFor();
  await page.getByLabel("Message", { exact: true }).fill("here it is");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => {
    const mine = [...document.querySelectorAll(".message.mine")].find((one) => one.textContent.includes("here it is"));
    const foot = document.querySelector(".chat-foot").getBoundingClientRect();
    return mine && mine.getBoundingClientRect().top > 0 && mine.getBoundingClientRect().bottom <= foot.top + 1;
  });
});
