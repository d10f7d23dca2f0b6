// Writing: mentions, several lines, drafts, images, editing, forking, deleting.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("a mention is completed by keys, and lines are kept", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/");
  const field = page.getByLabel("Message", { exact: true });
  await field.click();
  await field.pressSequentially("@b");
  await page.getByRole("option", { name: /Bob/ }).waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await field.inputValue(), "@bob ");
  await field.pressSequentially("hello");
  await page.keyboard.press("Shift+Enter");
  await field.pressSequentially("second line");
  await page.keyboard.press("Enter");
  await page.locator(".message.mine", { hasText: "second line" }).waitFor();
  const chat = await program.chat();
  const { data } = await program.api(`/api/worlds/demo/chats/${chat.id}/messages`);
  assert.equal(data[0].content, "@bob hello\nsecond line");
  await page.locator(".message.mine .to", { hasText: "to Bob" }).waitFor();
});

test("a draft outlives a reload, for its own chat only", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/");
  await page.getByLabel("Message", { exact: true }).fill("not sent yet");
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".composer textarea")?.value === "not sent yet");
  const other = await program.api("/api/worlds/demo/chats", {});
  await page.goto(`${program.url}/w/demo/c/${other.id}`);
  const field = page.getByLabel("Message", { exact: true });
  await field.waitFor();
  assert.equal(await field.inputValue(), "");
});

test("an image is pasted and shown in the message", async (context) => {
  const { open, problems } = await stage(context);
  const page = await open("/");
  await page.getByLabel("Message", { exact: true }).waitFor();
  await page.evaluate(async () => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 20;
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    const given = new DataTransfer();
    given.items.add(new File([blob], "dot.png", { type: "image/png" }));
    document
      .querySelector(".composer textarea")
      .dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, bubbles: true, cancelable: true }));
  });
  await page.locator(".pictures img").waitFor();
  await page.getByRole("button", { name: "Send" }).click();
  const image = page.locator(".message.mine .images img");
  await image.waitFor();
  assert.equal(await image.evaluate((one) => one.complete && one.naturalWidth), 20);
  assert.deepEqual(problems, []);
});

test("a message is edited and sent again, and what came after it goes", async (context) => {
  const { open } = await stage(context);
  const page = await open("/");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("hello");
  await page.keyboard.press("Enter");
  await page.locator(".prose", { hasText: "Hello! Say" }).waitFor();
  await page.locator(".message.mine").hover();
  await page.getByRole("button", { name: "Edit and send again" }).click();
  await page.locator(".edit textarea").fill("count to 3");
  await page.keyboard.press("Enter");
  await page.locator(".message:not(.mine) .prose", { hasText: "1 2 3" }).waitFor();
  assert.equal(await page.locator(".prose", { hasText: "Hello! Say" }).count(), 0);
  assert.equal(await page.locator(".message.mine").count(), 1);
});

test("a chat is forked from a message, renamed and deleted", async (context) => {
  const { open } = await stage(context);
  const page = await open("/");
  await page.getByLabel("Message", { exact: true }).fill("hello");
  await page.keyboard.press("Enter");
  await page.locator(".prose", { hasText: "Hello! Say" }).waitFor();
  const before = page.url();
  await page.locator(".message.mine").hover();
  await page.locator(".message.mine").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Fork from here" }).click();
  await page.waitForFunction((url) => location.href !== url, before);
  await page.locator(".message.mine", { hasText: "hello" }).waitFor();
  await page.getByRole("button", { name: "Menu of this chat" }).click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.getByLabel("Title").fill("A copy");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "A copy", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Menu of this chat" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForFunction(() => !document.querySelector(".sidebar")?.textContent.includes("A copy"));
});

test("what was being edited outlives a reload", async (context) => {
  const { open } = await stage(context);
  const page = await open("/");
  await page.getByLabel("Message", { exact: true }).fill("hello");
  await page.keyboard.press("Enter");
  await page.locator(".prose", { hasText: "Hello! Say" }).waitFor();
  await page.locator(".message.mine").hover();
  await page.getByRole("button", { name: "Edit and send again" }).click();
  await page.locator(".edit textarea").fill("count to 3");
  await page.reload();
  await page.locator(".edit textarea").waitFor();
  assert.equal(await page.locator(".edit textarea").inputValue(), "count to 3");
  await page.keyboard.press("Escape");
  await page.locator(".edit").waitFor({ state: "detached" });
  await page.reload();
  await page.locator(".message.mine", { hasText: "hello" }).waitFor();
  assert.equal(await page.locator(".edit").count(), 0);
});

test("where something is taken back that the page has not loaded, it loads what is left", async (context) => {
  const { program, open } = await stage(context);
  const chat = await program.chat();
  const path = `/api/worlds/demo/chats/${chat.id}/messages`;
  const first = await program.api(path, { content: "@nobody first" });
  // More than the page loads at once; nobody answers, since nobody is addressed at a line's start.
  for (let count = 0; count < 70; count += 1) await program.api(path, { content: `say @ada ${count}` });
  const page = await open(`/w/demo/c/${chat.id}`);
  await page.locator(".message.mine", { hasText: "say @ada 69" }).waitFor();
  assert.equal(await page.locator(".message.mine", { hasText: "first" }).count(), 0);
  await program.api(`${path}/${first.message.id}`, { content: "say @ada anew" }, "PUT");
  await page.locator(".message.mine", { hasText: "anew" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".message.mine").length === 1);
});

test("Esc leaves the message as it is, letters are keys again, and the keys are said with a way to the API", async (context) => {
  const { open, problems } = await stage(context);
  const page = await open("/");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("begun @b");
  await page.getByRole("option", { name: /Bob/ }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await field.evaluate((one) => one === document.activeElement), true);
  await page.keyboard.press("Escape");
  assert.equal(await field.evaluate((one) => one === document.activeElement), false);
  assert.equal(await field.inputValue(), "begun @b");
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keys" });
  await keys.getByText("leave the message as it is").waitFor();
  await page.keyboard.press("Escape");
  await keys.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Help and keys" }).click();
  await keys.getByRole("link", { name: "All calls of the API" }).click();
  await page.waitForURL(/\/docs$/);
  assert.deepEqual(problems, []);
});
