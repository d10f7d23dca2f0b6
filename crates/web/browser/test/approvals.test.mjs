// Deciding: several at once, in any order, in two windows, by mouse and by keys, and never by accident.
import assert from "node:assert/strict";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

test("three requests are decided out of order in two windows", async (context) => {
  const { program, open, problems } = await stage(context);
  const one = await open("/");
  const two = await open("/inbox");
  await program.say("run date; run uptime; run hostname");
  await one.waitForFunction(() => document.title.startsWith("(3) "));
  assert.match(await one.locator("link[rel=icon]").getAttribute("href"), /^data:/);
  const last = await armed(card(two, "hostname"));
  await last.getByRole("button", { name: /Approve once/ }).click();
  await one
    .locator(".card.settled", { hasText: "hostname" })
    .getByText(/Approved once by/)
    .waitFor();
  const first = await armed(card(one, "$ date"));
  await first.getByRole("button", { name: /Deny/ }).click();
  await first.getByLabel(/Why/).fill("look at your own watch");
  await first.getByRole("button", { name: "Deny", exact: true }).click();
  await two.locator(".card.settled", { hasText: "date" }).getByText("look at your own watch").waitFor();
  const middle = await armed(card(two, "uptime"));
  await middle.getByRole("button", { name: /Approve once/ }).click();
  await one.locator(".call", { hasText: "uptime" }).getByText("Done").waitFor();
  await one.locator(".call", { hasText: "date" }).getByText("Denied").waitFor();
  await one.waitForFunction(() => !document.title.startsWith("("));
  assert.deepEqual(await program.waiting(), []);
  assert.deepEqual(problems, []);
});

test("of two that decide at the same time one wins, and both are told which", async (context) => {
  const { program, open } = await stage(context);
  const one = await open("/inbox");
  const two = await open("/inbox");
  await program.say("run date");
  // Neither window hears of the other's decision before its own is on the way.
  const held = [];
  for (const page of [one, two]) {
    await page.route("**/api/approvals/apr_*", (route) =>
      route.request().method() === "POST" ? held.push(route) : route.continue(),
    );
  }
  await (await armed(card(one, "date"))).getByRole("button", { name: /Approve once/ }).click();
  const other = await armed(card(two, "date"));
  await other.getByRole("button", { name: /Deny/ }).click();
  await other.getByRole("button", { name: "Deny", exact: true }).click();
  while (held.length < 2) await new Promise((done) => setTimeout(done, 20));
  await Promise.all(held.map((route) => route.continue()));
  const texts = await Promise.all([one, two].map((page) => page.locator(".card.settled strong").first().textContent()));
  assert.equal(texts[0], texts[1]);
  assert.match(texts[0], /^(Approved once|Denied) by/);
});

test("arguments are edited, and what the server refuses is said", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/inbox");
  await program.say("run date");
  const waiting = await armed(card(page, "date"));
  await waiting.getByRole("button", { name: /Edit/ }).click();
  const field = waiting.getByLabel(/Other arguments/);
  await field.fill("{");
  await waiting.getByRole("button", { name: "Approve these once" }).click();
  await waiting.getByText(/not JSON/).waitFor();
  await field.fill('{"command": 7, "nonsense": true}');
  await waiting.getByRole("button", { name: "Approve these once" }).click();
  await waiting.locator(".bad-text").waitFor();
  assert.equal((await program.waiting()).length, 1);
  await field.fill('{"command": "echo", "parameters": ["edited"]}');
  await waiting.getByRole("button", { name: "Approve these once" }).click();
  await page
    .locator(".card.settled")
    .getByText(/with other arguments/)
    .waitFor();
  const chat = await program.chat();
  await page.goto(`${program.url}/w/demo/c/${chat.id}`);
  await page.locator(".call").getByText("Done").waitFor();
  await page.locator(".call-head").click();
  await page.locator(".call-details").getByText("edited").first().waitFor();
});

test("a lasting permission says for which calls, and how many others it let through", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/inbox");
  await program.say("run date; run date -u; run uptime");
  await card(page, "uptime").waitFor();
  const waiting = await armed(card(page, "$ date").first());
  await waiting.getByRole("button", { name: /This chat/ }).click();
  const confirm = waiting.getByRole("button", { name: "Approve for this chat" });
  assert.equal(await confirm.isDisabled(), true, "nothing is chosen by itself");
  await waiting.getByLabel(/with any parameters/).check();
  await armed(waiting);
  await confirm.click();
  const settled = page.locator(".card.settled").first();
  await settled.getByText("Holds for date with any parameters, by ada, in this chat.").waitFor();
  await settled.getByText("It also let 1 other waiting request through.").waitFor();
  await card(page, "uptime").waitFor();
  assert.equal((await program.waiting()).length, 1);
});

test("everything is decided by keys alone, on the card that has the focus", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/");
  await program.say("run date; run uptime; run hostname");
  await card(page, "hostname").waitFor();
  // Letters outside of cards decide nothing.
  await page.locator("#main").focus();
  await page.keyboard.press("o");
  assert.equal((await program.waiting()).length, 3);
  // They are part of a text, until there is a pause.
  await page.waitForTimeout(800);
  await page.keyboard.press("i");
  await page.locator(".card:focus").waitFor();
  await armed(page.locator(".card:focus"));
  await page.keyboard.press("o");
  await page.locator(".card.settled", { hasText: "date" }).waitFor();
  await page.locator(".card:focus", { hasText: "uptime" }).waitFor();
  await armed(page.locator(".card:focus"));
  await page.keyboard.press("d");
  await page.keyboard.type("not today");
  await page.keyboard.press("Enter");
  await page.locator(".card.settled", { hasText: "not today" }).waitFor();
  await page.locator(".card:focus", { hasText: "hostname" }).waitFor();
  await armed(page.locator(".card:focus"));
  await page.keyboard.press("a");
  await page.keyboard.press("1");
  await armed(card(page, "hostname"));
  await page.keyboard.press("Enter");
  await page.locator(".card.settled", { hasText: "Approved always" }).waitFor();
  assert.deepEqual(await program.waiting(), []);
});

test("a card that just appeared is not answered by a key that was meant for something else", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/inbox");
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  // The card is focused and answered in the very moment it is drawn.
  await page.evaluate(() => {
    window.pressed = false;
    new MutationObserver(() => {
      const found = document.querySelector(".card[data-state=pending]");
      if (!found || window.pressed) return;
      window.pressed = true;
      found.focus();
      found.dispatchEvent(new KeyboardEvent("keydown", { key: "o", bubbles: true, cancelable: true }));
      found.querySelector(".choices .primary").click();
    }).observe(document.body, { childList: true, subtree: true });
  });
  await program.say("run date");
  await armed(card(page, "date"));
  assert.equal(await page.evaluate(() => window.pressed), true);
  assert.equal((await program.waiting()).length, 1);
});

test("whoever clicked and then types does not decide the next one", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/inbox");
  await program.say("run date; run uptime");
  await card(page, "uptime").waitFor();
  await (await armed(card(page, "date"))).getByRole("button", { name: /Approve once/ }).click();
  await page.locator(".card.settled", { hasText: "date" }).waitFor();
  await armed(card(page, "uptime"));
  await page.keyboard.type("oyes");
  await page.locator(".card.settled:focus").waitFor();
  assert.equal((await program.waiting()).length, 1);
});

test("what only tells one content from another is folded away", async (context) => {
  const { program, open } = await stage(context);
  await program.say("run date");
  const page = await open("/stats");
  await page.route("**/api/approvals?*", async (route) => {
    const answer = await route.fetch();
    const found = await answer.json();
    found.data[0].binding.facts.replaces = `sha256:${"0f".repeat(32)}`;
    await route.fulfill({ response: answer, json: found });
  });
  await page.goto(`${program.url}/inbox`);
  const waiting = card(page, "date");
  const digest = waiting.locator(".fact", { hasText: "sha256:" });
  await digest.waitFor({ state: "attached" });
  assert.equal(await digest.isVisible(), false);
  await waiting.getByText("Contents it is bound to").click();
  await digest.waitFor();
});
