// Every view, in light and dark, wide and narrow: nothing that keeps somebody from using it, nothing beyond the screen.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { card, stage } from "../harness.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core");

/** Runs axe inside the page, in spite of the page's own policy. */
async function check(page, what) {
  await page.evaluate((await import("node:fs")).readFileSync(axe, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.map(
    (one) =>
      `${one.id}: ${one.nodes
        .slice(0, 3)
        .map((node) => node.html.slice(0, 160))
        .join(" | ")}`,
  );
  assert.deepEqual(found, [], what);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wider <= 0, `${what} is ${wider} pixels too wide`);
}

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
      "/w/nowhere": ".state",
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
