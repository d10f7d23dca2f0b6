// Every view, in light and dark, wide and narrow: nothing that keeps somebody from using it, nothing beyond the screen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../axe.mjs";
import { card, stage } from "../harness.mjs";

for (const [width, scheme] of [
  [1280, "light"],
  [390, "dark"],
  [360, "light"],
  [1700, "dark"],
]) {
  test(`views at ${width} pixels, ${scheme}`, async (context) => {
    const { program, open, problems } = await stage(context);
    await program.say("help");
    await program.say("run date; run rm -rf build");
    const chat = await program.chat();
    const page = await open("/inbox", {
      viewport: { width, height: 800 },
      colorScheme: scheme,
      reducedMotion: "reduce",
    });
    await card(page, "date").waitFor();
    const views = {
      "/inbox": ".card",
      [`/w/demo/c/${chat.id}`]: ".message",
      "/worlds": ".box",
      "/w/demo": ".state",
      "/w/demo/settings": ".agent-box",
      "/w/demo/history": ".timeline",
      "/audit": ".audit tbody tr",
      "/stats": ".figures",
      "/w/nowhere": ".state a",
      "/w/nowhere/history": ".state a",
      "/w/nowhere/settings": ".state a",
      "/w/nowhere/c/chat_1": ".state a",
      "/w/demo/c/chat_1": ".state a",
      "/inbox/apr_1": ".state a",
      "/nothing": ".state a",
    };
    for (const [path, ready] of Object.entries(views)) {
      await page.goto(program.url + path);
      await page.locator(ready).first().waitFor();
      await page.waitForFunction(() => !document.querySelector(".arming"));
      await check(page, `${path} at ${width}`);
    }
    await page.goto(`${program.url}/w/demo/settings`);
    for (const tab of ["World", "Policy", "Permissions", "MCP servers", "Export"]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByRole("tab", { name: tab, selected: true }).waitFor();
      await check(page, `settings ${tab} at ${width}`);
    }
    await page.goto(`${program.url}/w/demo/history`);
    await page.getByRole("tab", { name: "Who called whom" }).click();
    await page.locator(".graph .node").first().waitFor();
    await check(page, `who called whom at ${width}`);
    assert.deepEqual(problems, []);
  });
}

test("colours follow the system until somebody chooses, and the choice is kept", async (context) => {
  const { open } = await stage(context);
  const page = await open("/", { colorScheme: "dark" });
  await page.getByLabel("Message", { exact: true }).waitFor();
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await background();
  await page.getByRole("button", { name: "Colours: as the system" }).click();
  await page.getByRole("button", { name: "Colours: light" }).waitFor();
  assert.notEqual(await background(), dark);
  await page.reload();
  await page.getByRole("button", { name: "Colours: light" }).click();
  await page.getByRole("button", { name: "Colours: dark" }).waitFor();
  assert.equal(await background(), dark);
});
