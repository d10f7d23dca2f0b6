// What was written and not saved or sent: it is not lost by leaving, nor by sending it again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("whoever leaves changed settings is asked first", async (context) => {
  const { open } = await stage(context);
  const page = await open("/w/demo/settings");
  let answer = false;
  const asked = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    return answer ? dialog.accept() : dialog.dismiss();
  });
  await page.getByRole("tab", { name: "Policy" }).click();
  await page.getByRole("button", { name: "deny a command" }).click();
  await page.getByRole("tab", { name: "Agents" }).click();
  await page.getByRole("tab", { name: "Policy", selected: true }).waitFor();
  await page.getByRole("link", { name: "Statistics" }).click();
  assert.match(page.url(), /settings#policy$/);
  assert.equal(asked.length, 2);
  assert.match(asked[0], /not saved/);
  await page.locator(".rule", { hasText: "git push" }).waitFor();
  answer = true;
  await page.getByRole("link", { name: "Statistics" }).click();
  await page.waitForURL(/\/stats$/);
  // Where nothing was changed nobody is asked.
  await page.getByRole("link", { name: "Audit" }).click();
  await page.waitForURL(/\/audit$/);
  assert.equal(asked.length, 3);
});

test("going back keeps what was changed, too, and so does a click beside the form of an agent", async (context) => {
  const { open } = await stage(context);
  const page = await open("/stats");
  await page.getByRole("link", { name: "Worlds" }).click();
  await page.getByRole("link", { name: "Settings" }).click();
  const asked = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    return dialog.dismiss();
  });
  await page.locator(".agent-box").first().getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Instructions").fill("Be brief.");
  await page.mouse.click(5, 5);
  await page.keyboard.press("Escape");
  assert.equal(await page.getByLabel("Instructions").inputValue(), "Be brief.");
  assert.equal(asked.length, 2);
  await page.goBack();
  await page.waitForFunction(() => location.pathname.endsWith("/settings"));
  assert.equal(await page.getByLabel("Instructions").inputValue(), "Be brief.");
  assert.equal(asked.length, 3);
});

test("the images of a message stay when it is edited, also where it has no text", async (context) => {
  const { program, open } = await stage(context);
  const chat = await program.chat();
  const image_url =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await program.api(`/api/worlds/demo/chats/${chat.id}/messages`, { content: [{ type: "input_image", image_url }] });
  const page = await open(`/w/demo/c/${chat.id}`);
  const mine = page.locator(".message.mine");
  const messages = () => program.api(`/api/worlds/demo/chats/${chat.id}/messages`).then((found) => found.data);
  for (const text of ["", "hello"]) {
    const [before] = await messages();
    await mine.hover();
    await page.getByRole("button", { name: "Edit and send again" }).click();
    await page.locator(".edit .images img").waitFor();
    await page.getByText("Its images are sent again").waitFor();
    await page.locator(".edit textarea").fill(text);
    await page.locator(".edit").getByRole("button", { name: "Send" }).click();
    await page.locator(".edit").waitFor({ state: "detached" });
    await mine.locator(".images img").waitFor();
    const [after] = await messages();
    assert.notEqual(after.id, before.id);
    assert.deepEqual([after.content, after.parts[0].image_url], [text, image_url]);
  }
});
