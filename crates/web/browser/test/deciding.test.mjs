// Nothing decides that was meant for something else: letters of a text, keys and clicks that come too late for what was
// there or too soon for what is there now.
import assert from "node:assert/strict";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

/** Presses letters on what has the focus, all at once: no machine is too slow for that. */
async function burst(page, letters) {
  await page.evaluate((all) => {
    for (const key of all) {
      const to = document.activeElement ?? document.body;
      to.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }
  }, letters);
}

/** Has the page press a button as soon as something is there, before anybody can have seen it. */
async function clickAsSoonAs(page, there, button) {
  await page.evaluate(
    ([there, button]) => {
      window.acted = false;
      new MutationObserver((_, observer) => {
        if (!document.querySelector(there)) return;
        observer.disconnect();
        document.querySelector(button).click();
        window.acted = true;
      }).observe(document.body, { childList: true, subtree: true, attributes: true });
    },
    [there, button],
  );
}

const acted = (page) => page.waitForFunction(() => window.acted);

/** Longer than anything that was pressed is held. */
const aMoment = (page) => page.waitForTimeout(900);

async function two(context, path = "/inbox") {
  const { program, open } = await stage(context);
  const page = await open(path);
  await program.say("run date; run uptime");
  await card(page, "uptime").waitFor();
  await armed(card(page, "$ date"));
  return { program, page, first: card(page, "$ date"), second: card(page, "uptime") };
}

async function idOf(waiting) {
  return (await waiting.getAttribute("id")).replace("card-", "");
}

test("whoever writes a reason on a card that another decides goes on writing, and decides nothing", async (context) => {
  const { program, page, first } = await two(context);
  await first.getByRole("button", { name: /Deny/ }).click();
  await page.keyboard.type("please ");
  await program.api(`/api/approvals/${await idOf(first)}`, { decision: "deny" });
  const settled = page.locator(".card.settled", { hasText: "Denied by" });
  await settled.getByLabel(/Not sent: the reason/).waitFor();
  await page.keyboard.type("is also good, I say yes");
  await aMoment(page);
  assert.equal(await settled.getByLabel(/Not sent/).inputValue(), "please is also good, I say yes");
  assert.equal((await program.waiting()).length, 1);
  // It stays until it is not wanted any more.
  assert.equal(await page.getByRole("button", { name: /^Clear/ }).count(), 0);
  await settled.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Clear the decided one" }).click();
  await settled.waitFor({ state: "detached" });
});

test("letters for a field that is gone go nowhere", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/");
  await program.say("run date");
  const other = await program.api("/api/worlds/demo/chats", {});
  await program.api(`/api/worlds/demo/chats/${other.id}/messages`, { content: "run uptime" });
  await (await armed(card(page, "uptime"))).getByRole("button", { name: /Deny/ }).click();
  await page.keyboard.type("because");
  await program.api(`/api/worlds/demo/chats/${other.id}`, undefined, "DELETE");
  await card(page, "uptime").waitFor({ state: "detached" });
  await page.getByText("You were writing: “because”").waitFor();
  await armed(card(page, "$ date"));
  await burst(page, "io");
  await aMoment(page);
  assert.equal(await page.locator(".card:focus-within").count(), 0);
  assert.equal((await program.waiting()).length, 1);
});

test("a key that leads to a card is not followed by one that decides it", async (context) => {
  const { program, page, first } = await two(context, "/");
  await page.locator("#main").focus();
  await page.evaluate(() => {
    addEventListener("focusin", ({ target }) =>
      setTimeout(() => {
        for (const key of ["o", "y"]) target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        window.acted = true;
      }, 50),
    );
  });
  await page.keyboard.press("i");
  await acted(page);
  await aMoment(page);
  assert.equal((await program.waiting()).length, 2);
});

test("a text typed on a card decides nothing and leads nowhere", async (context) => {
  const { program, page, first } = await two(context);
  for (const text of ["only if you know", "yes, just do it", "ok", "xjo", "jo", "xkloy"]) {
    await first.focus();
    await armed(first);
    await burst(page, text);
    await aMoment(page);
    assert.equal((await program.waiting()).length, 2, text);
    assert.equal(await page.locator(".step").count(), 0, text);
  }
});

test("a text typed where a lasting permission is chosen gives none", async (context) => {
  const { program, page, first } = await two(context);
  await first.focus();
  await armed(first);
  await page.keyboard.press("a");
  await first.getByRole("button", { name: "Approve always" }).waitFor();
  await armed(first);
  await burst(page, "lways 1 ");
  await page.keyboard.press("Enter");
  assert.equal(await first.getByRole("radio", { checked: true }).count(), 0);
  assert.equal((await program.waiting()).length, 2);
});

test("whoever decides the last one by a key does not come to the one above", async (context) => {
  const { program, page, first, second } = await two(context);
  await second.focus();
  await armed(second);
  await burst(page, "oo");
  await page.locator(".card.settled:focus", { hasText: "uptime" }).waitFor();
  await armed(first);
  await page.keyboard.press("o");
  await aMoment(page);
  assert.equal((await program.waiting()).length, 1);
  await page.keyboard.press("k");
  await page.locator(".card:focus", { hasText: "date" }).waitFor();
  await armed(first);
  await page.keyboard.press("o");
  await page.locator(".card.settled", { hasText: "date" }).waitFor();
});

test("what is held is taken back by Escape", async (context) => {
  const { program, page, first } = await two(context);
  await first.focus();
  await armed(first);
  await page.evaluate(() => {
    for (const key of ["o", "Escape"])
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
  await aMoment(page);
  assert.equal((await program.waiting()).length, 2);
});

test("a click does not count on a card that moved when another one was decided", async (context) => {
  const { program, page, first, second } = await two(context);
  await armed(second);
  await clickAsSoonAs(page, ".card.settled", ".card[data-state=pending] .choices .primary");
  await program.api(`/api/approvals/${await idOf(first)}`, { decision: "deny" });
  await acted(page);
  await aMoment(page);
  assert.equal((await program.waiting()).length, 1);
});

test("nor on one that came down because the end of the list went away", async (context) => {
  const { program, page, second } = await two(context);
  await page.setViewportSize({ width: 1280, height: 480 });
  await page.locator(".view-scroll").evaluate((one) => (one.scrollTop = one.scrollHeight));
  await aMoment(page);
  await armed(card(page, "$ date"));
  await clickAsSoonAs(page, ".card.settled", ".card[data-state=pending] .choices .primary");
  await program.api(`/api/approvals/${await idOf(second)}`, { decision: "deny" });
  await acted(page);
  await aMoment(page);
  assert.equal((await program.waiting()).length, 1);
});

test("a click does not count on buttons that moved because their card grew", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/inbox");
  let answer;
  const held = new Promise((done) => (answer = done));
  await page.route("**/policy/test", async (route) => {
    await held;
    await route.continue();
  });
  // What the rules say of it comes late, and with it a warning.
  await program.say(`call shell_cmd ${JSON.stringify({ script: "ls\nrm -r old" })}`);
  await armed(card(page, "rm -r old"));
  await clickAsSoonAs(page, ".card .warning", ".card .choices .primary");
  answer();
  await acted(page);
  await aMoment(page);
  assert.equal((await program.waiting()).length, 1);
});

test("the second click of a double click decides nothing", async (context) => {
  const { program, page, first } = await two(context);
  await clickAsSoonAs(page, ".step .danger", ".step .danger");
  await first.getByRole("button", { name: /Deny/ }).click();
  await acted(page);
  await aMoment(page);
  await first.getByLabel(/Why/).waitFor();
  assert.equal((await program.waiting()).length, 2);
});

test("what is long says that it goes on, and is shown whole", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/inbox");
  const lines = (name) => Array.from({ length: 200 }, (_, at) => `${name} ${at}`);
  const say = async (content) => {
    const chat = await program.api("/api/worlds/demo/chats", {});
    await program.api(`/api/worlds/demo/chats/${chat.id}/messages`, { content });
  };
  await say(`call shell_cmd ${JSON.stringify({ script: lines("echo").join("\n") })}`);
  await say(`call write_file ${JSON.stringify({ path: "long.txt", content: lines("line").join("\n") })}`);
  for (const waiting of [card(page, "echo 1"), card(page, "line 1")]) {
    await waiting.getByText(/\d+ more lines below/).waitFor();
    const text = waiting.locator(".long > pre").first();
    await text.evaluate((one) => (one.scrollTop = one.scrollHeight));
    await waiting.getByText("This is the end").waitFor();
    await text.evaluate((one) => (one.scrollTop = 0));
    await waiting.getByText(/\d+ more lines below/).waitFor();
    await waiting.getByRole("button", { name: "Show all of it" }).click();
    await waiting.locator(".long-foot").waitFor({ state: "detached" });
    assert.ok(await text.evaluate((one) => one.scrollHeight - one.clientHeight < 2));
  }
});

test("what waits and cannot be loaded is not nothing", async (context) => {
  const { program, open } = await stage(context);
  await program.say("run date");
  const page = await open("/stats");
  let isBroken = true;
  const broken = { status: 500, json: { code: "internal", detail: "the store is gone" } };
  await page.route("**/api/approvals?*", (route) => (isBroken ? route.fulfill(broken) : route.continue()));
  await page.goto(`${program.url}/inbox`);
  await page.getByRole("alert").getByText("What waits for you could not be loaded. The store is gone").waitFor();
  assert.equal(await page.getByText(/Nothing waits/).count(), 0);
  await page.goto(`${program.url}/audit`);
  await page.getByText("What waits for you could not be loaded: there may be more.").waitFor();
  // What is told for a moment does not lie over it.
  await page.goto(`${program.url}/w/demo/settings#world`);
  await page.locator(".banner").waitFor();
  await page.getByLabel("What it is for").fill("To look at");
  await page.getByRole("button", { name: "Save" }).click();
  const toast = await page.locator(".toast", { hasText: "Saved" }).boundingBox();
  const banner = await page.locator(".banner").boundingBox();
  assert.ok(toast.y >= banner.y + banner.height, JSON.stringify({ toast, banner }));
  isBroken = false;
  await page.getByRole("button", { name: "Try now" }).click();
  await page.getByText("What waits for you could not be loaded").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await card(page, "date").waitFor();
});

test("arguments that somebody began to edit are there when they come back", async (context) => {
  const { page, first } = await two(context);
  const edited = '{"command": "date", "parameters": ["-u"]}';
  await first.getByRole("button", { name: /Edit/ }).click();
  await first.getByLabel(/Other arguments/).fill(edited);
  await page.keyboard.press("Escape");
  await first.getByText(/are kept under “Edit”/).waitFor();
  await page.getByRole("link", { name: "Statistics" }).click();
  await page.waitForURL(/\/stats$/);
  await page.goBack();
  await armed(first);
  await first.getByRole("button", { name: /Edit/ }).click();
  assert.equal(await first.getByLabel(/Other arguments/).inputValue(), edited);
  await first.getByRole("button", { name: "Approve these once" }).click();
  await page
    .locator(".card.settled")
    .getByText(/with other arguments/)
    .waitFor();
});

test("a long name hides no tool, and a line of a diff is no name of a file", async (context) => {
  const { program, open } = await stage(context);
  await program.api("/api/worlds/demo/agents/ada", { name: "Ada who may do everything ".repeat(7).trim() }, "PATCH");
  await program.say(`call write_file ${JSON.stringify({ path: "i.c", content: "int i;\n++i;\n--i;\n" })}`);
  const page = await open("/inbox");
  const head = card(page, "i.c").locator(".card-who");
  await head.waitFor();
  assert.ok(await head.evaluate((one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight));
  await head.locator("code", { hasText: "write_file" }).waitFor();
  assert.deepEqual(await page.locator(".diff-line.added").allTextContents(), ["+int i;", "+++i;", "+--i;"]);
});
