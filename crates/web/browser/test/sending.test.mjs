// A message between the page and the server: whatever happens on the way, it arrives, and it arrives once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function opened(context) {
  const staged = await stage(context);
  const chat = await staged.program.chat();
  const page = await staged.open(`/w/demo/c/${chat.id}`);
  const field = page.getByLabel("Message", { exact: true });
  await field.waitFor();
  const said = () =>
    staged.program
      .api(`/api/worlds/demo/chats/${chat.id}/messages`)
      .then((found) => found.data.filter((one) => one.role === "user").map((one) => one.content));
  return { ...staged, chat, page, field, said };
}

const isPost = (request) => request.method() === "POST" && request.url().endsWith("/messages");

test("a reload in the middle of sending neither loses a message nor sends it twice", async (context) => {
  const { page, field, said } = await opened(context);
  const keys = [];
  // The server takes it, and its answer never comes.
  await page.route("**/messages", async (route) => {
    if (!isPost(route.request())) return route.continue();
    keys.push(route.request().headers()["idempotency-key"]);
    await route.fetch();
    if (keys.length > 1) return route.fulfill({ status: 202, body: "{}" });
  });
  await field.fill("once only");
  await page.keyboard.press("Enter");
  await page.locator(".message.mine", { hasText: "once only" }).waitFor();
  await page.reload();
  await field.waitFor();
  while (keys.length < 2) await new Promise((done) => setTimeout(done, 20));
  assert.equal(keys[0], keys[1]);
  await page.waitForFunction(() => !document.querySelector(".outbox-item"));
  assert.equal(await field.inputValue(), "");
  assert.deepEqual(await said(), ["once only"]);
});

test("a message that never left is sent after a reload", async (context) => {
  const { page, field, said } = await opened(context);
  let isCut = true;
  await page.route("**/messages", (route) => (isCut && isPost(route.request()) ? undefined : route.continue()));
  await field.fill("still mine");
  await page.keyboard.press("Enter");
  await page.locator(".outbox-item", { hasText: "still mine" }).getByText("Sending").waitFor();
  isCut = false;
  await page.reload();
  await page.locator(".message.mine", { hasText: "still mine" }).waitFor();
  assert.deepEqual(await said(), ["still mine"]);
});

test("a chat left while its message is on the way still gets it, and what is refused is there to be changed", async (context) => {
  const { page, field, said, program, chat } = await opened(context);
  const other = await program.api("/api/worlds/demo/chats", {});
  const held = [];
  await page.route("**/messages", (route) => (isPost(route.request()) ? held.push(route) : route.continue()));
  await field.fill("one");
  await page.keyboard.press("Enter");
  await field.fill("two");
  await page.keyboard.press("Enter");
  const goTo = async (id) => {
    await page.locator(`.chat-item a[href$="/c/${id}"]`).click();
    await page.waitForURL(new RegExp(`/c/${id}$`));
    await field.waitFor();
  };
  await goTo(other.id);
  assert.equal(await field.inputValue(), "");
  while (held.length < 1) await new Promise((done) => setTimeout(done, 20));
  await held[0].continue();
  while (held.length < 2) await new Promise((done) => setTimeout(done, 20));
  await held[1].fulfill({
    status: 422,
    contentType: "application/problem+json",
    body: JSON.stringify({ code: "refused", detail: "not like this", status: 422 }),
  });
  await page.unroute("**/messages");
  assert.equal(await field.inputValue(), "");
  await goTo(chat.id);
  await page.locator(".toast-bad", { hasText: "Not sent: Not like this" }).waitFor();
  assert.equal(await field.inputValue(), "two");
  assert.deepEqual(await said(), ["one"]);
});

test("what was written long ago, or by somebody else, is not sent by itself", async (context) => {
  const { page, said } = await opened(context);
  let isCut = true;
  await page.route("**/messages", (route) => (isCut && isPost(route.request()) ? undefined : route.continue()));
  for (const text of ["hers", "long ago"]) {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  }
  await page.locator(".outbox-item", { hasText: "long ago" }).waitFor();
  await page.evaluate(
    () =>
      new Promise((done) => {
        const asked = indexedDB.open("agent-world");
        asked.onsuccess = () => {
          const change = asked.result.transaction("postings", "readwrite");
          const store = change.objectStore("postings");
          store.getAll().onsuccess = (event) => {
            for (const one of event.target.result)
              store.put(one.text === "hers" ? { ...one, who: "maria" } : { ...one, at: one.at - 3_600_000 });
          };
          change.oncomplete = () => done(asked.result.close());
        };
      }),
  );
  isCut = false;
  await page.reload();
  const old = page.locator(".outbox-item", { hasText: "long ago" });
  await old.getByText("Not sent before the page was left.").waitFor();
  assert.equal(await page.locator(".outbox-item", { hasText: "hers" }).count(), 0);
  assert.deepEqual(await said(), []);
  await old.getByRole("button", { name: "Send it" }).click();
  await page.locator(".message.mine", { hasText: "long ago" }).waitFor();
  assert.deepEqual(await said(), ["long ago"]);
});

test("images that are not sent yet outlive a reload", async (context) => {
  const { page, said, field } = await opened(context);
  await page.locator(".composer input[type=file]").setInputFiles({
    name: "dot.png",
    mimeType: "image/png",
    buffer: Buffer.from(PIXEL, "base64"),
  });
  await page.locator(".pictures img").waitFor();
  await page.reload();
  await page.locator(".pictures img").waitFor();
  await field.fill("look");
  await page.keyboard.press("Enter");
  await page.locator(".message.mine .images img").waitFor();
  await page.reload();
  await page.locator(".message.mine .images img").waitFor();
  assert.equal(await page.locator(".pictures img").count(), 0);
  assert.deepEqual(await said(), ["look"]);
});
