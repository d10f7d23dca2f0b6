// The first minutes on the demo world: the page opens a chat, takes a message and shows the reply while it is written.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("the first visit leads to a chat that answers", async (context) => {
  const { open, problems } = await stage(context);
  const page = await open("/");
  await page.getByRole("heading", { name: "Who is here" }).waitFor();
  assert.match(page.url(), /\/w\/demo\/c\/chat_/);
  await page.getByRole("button", { name: "help", exact: true }).click();
  const reply = page.locator(".message:not(.mine) .prose").first();
  await reply.getByText("These are my tricks").waitFor();
  assert.ok((await reply.locator("li code").count()) > 3, "Markdown is rendered");
  await page.getByLabel("Message", { exact: true }).fill("hello");
  await page.keyboard.press("Enter");
  await page.locator(".prose", { hasText: "Hello! Say" }).waitFor();
  assert.equal(await page.locator(".message.mine").count(), 2);
  assert.deepEqual(problems, []);
});

test("a reply is shown while it is written, and text from a model is never HTML", async (context) => {
  const { program, model, open, problems } = await stage(context, { slow: true });
  await program.api("/api/worlds", { name: "Slow", agents: [{ id: "eve", model: "groq/slow" }] });
  const chat = await program.chat("slow");
  const page = await open(`/w/slow/c/${chat.id}`);
  await page.getByRole("heading", { name: "Who is here" }).waitFor();
  const asked = model.next();
  await page.getByLabel("Message", { exact: true }).fill("tell me");
  await page.keyboard.press("Enter");
  const reply = await asked;
  reply.say("Some **bold** words");
  await page.locator(".prose strong", { hasText: "bold" }).waitFor();
  reply.say("\n\n<img src=x onerror=alert(1)> and <script>alert(2)</script>\n\n");
  reply.say("```js\nconst a = 1;\n```\n");
  await page.locator(".prose pre", { hasText: "const a = 1" }).waitFor();
  await page.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.equal(await page.locator(".prose img, .prose script").count(), 0);
  reply.end();
  await page.locator(".message:not(.mine) .message-actions").waitFor({ state: "attached" });
  assert.deepEqual(problems, []);
});

test("the inbox is empty and says what it is for", async (context) => {
  const { open } = await stage(context);
  const page = await open("/inbox");
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  assert.equal(await page.title(), "Inbox · Agent World");
});
