// Numbers that a browser cannot hold, and texts as they were written: what is shown, edited, saved and exported is what is there.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

const LARGE = "9007199254740993";

/** Sends a body letter by letter. */
async function put(program, path, body) {
  const answer = await fetch(program.url + path, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body,
  });
  assert.ok(answer.ok, await answer.text());
}

const text = (program, path) => fetch(program.url + path).then((answer) => answer.text());

test("edited arguments are sent letter by letter, and none of them twice", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/inbox");
  await program.say("run date");
  const waiting = await armed(card(page, "date"));
  await waiting.getByRole("button", { name: /Edit/ }).click();
  const field = waiting.getByLabel(/Other arguments/);
  const approve = waiting.getByRole("button", { name: "Approve these once" });
  await field.fill('{"command": "date", "command": "uptime"}');
  await approve.click();
  await waiting.getByText('"command" stands there twice').waitFor();
  assert.equal((await program.waiting()).length, 1);
  const written = `{ "command": "date",\n "large": ${LARGE}, "one": 1.0, "beyond": 1e400 }`;
  await field.fill(written);
  const sent = page.waitForRequest((request) => request.method() === "POST" && /\/api\/approvals\//.test(request.url()));
  await approve.click();
  assert.ok((await sent).postData().includes(`"arguments":${written}`));
});

test("a rule keeps its numbers when something else of it is changed, and so does an export", async (context) => {
  const { program, open } = await stage(context);
  const rule = `{"id":"exact","ruling":"deny","tool":"write_file","matches":[{"pointer":"/n","equals":[${LARGE},1.0]}]}`;
  await put(program, "/api/worlds/demo/policy", `{"preset":"ask","rules":[${rule}]}`);
  const page = await open("/w/demo/settings#policy");
  const shown = page.locator(".rule", { hasText: LARGE });
  await shown.locator(".rule-line").click();
  assert.equal(await page.getByLabel("Value").inputValue(), `[${LARGE},1.0]`);
  assert.ok(await page.getByRole("button", { name: "Save rules" }).isDisabled(), "nothing was changed by looking");
  await page.getByLabel("Why").fill("because");
  await page.getByRole("button", { name: "Save rules" }).click();
  await page.locator(".toast", { hasText: "Saved" }).waitFor();
  const saved = await text(program, "/api/worlds/demo/policy");
  assert.ok(saved.includes(`[${LARGE},1.0]`) && saved.includes("because"), saved);
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  assert.ok((await page.getByLabel("Rules, as a JSON list").inputValue()).includes(LARGE));
  await page.getByRole("tab", { name: "Export" }).click();
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const file = await readFile(await (await downloading).path(), "utf8");
  assert.ok(file.includes(LARGE) && file.includes("1.0"));
});

test("a call shows the numbers that it was made with", async (context) => {
  const { program, open } = await stage(context);
  await program.say("run date");
  const chat = await program.chat();
  const page = await open("/stats");
  await page.route("**/tool-calls/*", async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace(/"arguments":\{/, `"arguments":{"large":${LARGE},"one":1.0,`);
    await route.fulfill({ response: answer, body });
  });
  await page.goto(`${program.url}/w/demo/c/${chat.id}`);
  await page.locator(".call-head").click();
  await page.locator(".call-details", { hasText: `"large": ${LARGE}` }).waitFor();
  await page.locator(".call-details", { hasText: '"one": 1.0' }).waitFor();
});
