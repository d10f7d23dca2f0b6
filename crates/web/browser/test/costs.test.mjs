// What the page costs, counted: bytes, requests, elements, changes of the document. Times are for `npm run measure`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

const FIRST_VIEW = 150_000;
const MANY = 5_000;
/** Posted at the same time. */
const AT_ONCE = 8;

test("the first view is small, and comes from one place", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/w/nowhere");
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
  const addresses = new Map();
  let bytes = 0;
  cdp.on("Network.responseReceived", ({ requestId, response }) => addresses.set(requestId, response.url));
  cdp.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(`${program.url}/`);
  await page.getByRole("heading", { name: "Who is here" }).waitFor();
  for (const address of addresses.values()) assert.ok(address.startsWith(`${program.url}/`), address);
  assert.ok(bytes > 10_000 && bytes <= FIRST_VIEW, `${bytes} bytes`);
});

test("of a chat of 5,000 messages only the end is asked for and drawn", async (context) => {
  const { program, open, problems } = await stage(context);
  // Each message is followed by a notice that nobody lives here, which is a message of its own.
  await program.api("/api/worlds", { name: "Long", agents: [] });
  const chat = await program.chat("long");
  const path = `/api/worlds/long/chats/${chat.id}/messages`;
  let number = 0;
  const post = async () => {
    while (number < MANY / 2) await program.api(path, { content: `message ${(number += 1)}, with **a few** words` });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, post));
  const page = await open("/inbox");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${program.url}/w/long/c/${chat.id}`);
  await page.locator(".message").last().waitFor();
  await page.waitForFunction(() => {
    const list = document.querySelector(".list");
    return list.scrollHeight - list.scrollTop - list.clientHeight < 5;
  });
  assert.equal(asked.filter((address) => address.includes("/messages?")).length, 1);
  assert.ok((await page.locator(".entry").count()) <= 60);
  const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok((await elements()) < 2_500, `${await elements()} elements`);
  // Reading back for a long way draws no more than what is near.
  await page.locator(".list").hover();
  for (let step = 0; step < 60; step += 1) {
    await page.mouse.wheel(0, -2_000);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  assert.ok((await page.locator(".entry").count()) < 250);
  assert.ok((await elements()) < 8_000, `${await elements()} elements`);
  assert.deepEqual(problems, []);
});

test("a piece of a reply changes the last block alone", async (context) => {
  const { program, model, open } = await stage(context, { slow: true });
  await program.api("/api/worlds", { name: "Slow", agents: [{ id: "eve", model: "groq/slow" }] });
  const chat = await program.chat("slow");
  const page = await open(`/w/slow/c/${chat.id}`);
  await page.getByRole("heading", { name: "Who is here" }).waitFor();
  const asked = model.next();
  await program.say("tell me", "slow");
  const reply = await asked;
  for (let number = 0; number < 40; number += 1) reply.say(`Paragraph ${number}.\n\n`);
  await page.locator(".prose .block", { hasText: "Paragraph 39." }).waitFor();
  // From now on: what changes outside of the last block, and how often anything does.
  await page.evaluate(() => {
    window.elsewhere = [];
    window.frames_ = 0;
    const reply = document.querySelector(".message:not(.mine) .prose");
    window.known = [...reply.children].slice(0, 40);
    new MutationObserver((changes) => {
      window.frames_ += 1;
      for (const { target } of changes)
        if (window.known.some((block) => block.contains(target))) window.elsewhere.push(target.textContent);
    }).observe(reply, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  for (let number = 0; number < 200; number += 1) reply.say(`word${number} `);
  reply.end();
  await page.locator(".prose .block", { hasText: "word199" }).waitFor();
  await page.locator(".message:not(.mine) .message-actions").waitFor({ state: "attached" });
  assert.deepEqual(await page.evaluate(() => window.elsewhere), []);
  assert.equal(await page.evaluate(() => window.known.every((block) => block.isConnected)), true);
  assert.ok((await page.evaluate(() => window.frames_)) <= 201, "at most once for a piece");
});

test("a text without end is drawn in parts, and its code is copied whole", async (context) => {
  const { program, open } = await stage(context);
  await program.api("/api/worlds", { name: "Long", agents: [] });
  const chat = await program.chat("long");
  const lines = Array.from({ length: 30_000 }, (_, number) => `let number = ${number};`).join("\n");
  for (const content of ["word\n\n".repeat(3_000), `\`\`\`js\n${lines}\n\`\`\``])
    await program.api(`/api/worlds/long/chats/${chat.id}/messages`, { content });
  const page = await open(`/w/long/c/${chat.id}`, { permissions: ["clipboard-read", "clipboard-write"] });
  const [words, code] = [page.locator(".message.mine").first(), page.locator(".message.mine").last()];
  await code.locator(".prose").waitFor();
  const blocks = (of) => of.locator(".prose > .block").count();
  assert.equal(await blocks(words), 1_000);
  await words.getByRole("button", { name: /Show more/ }).click();
  await words.getByRole("button", { name: /1,000 blocks left/ }).waitFor();
  assert.equal(await blocks(words), 2_000);
  await code.getByRole("button", { name: /Show more/ }).waitFor();
  await code.getByRole("button", { name: "Copy code" }).first().click();
  await page.waitForFunction(() => navigator.clipboard.readText().then((text) => text !== ""));
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.trimEnd(), lines);
});
