// What tells of requests when somebody looks elsewhere: the sign in the tab, and notifications of the system.
import assert from "node:assert/strict";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

/** Stands in for the system, which shows nothing here: keeps what would be shown. */
async function watchNotifications(page) {
  await page.addInitScript(() => {
    window.told = [];
    window.Notification = class {
      static permission = "default";
      static async requestPermission() {
        this.permission = "granted";
        return "granted";
      }
      constructor(title, options) {
        Object.assign(this, { title, ...options, isOpen: true });
        window.told.push(this);
      }
      close() {
        this.isOpen = false;
      }
    };
  });
  await page.reload();
}

/** In a chat of its own: what waits in one holds up nothing in another. */
async function sayElsewhere(program, content) {
  const chat = await program.api("/api/worlds/demo/chats", {});
  await program.api(`/api/worlds/demo/chats/${chat.id}/messages`, { content });
}

/** Whether somebody looks at the page cannot be changed from outside. */
const lookAway = (page) => page.evaluate(() => (document.hasFocus = () => false));

test("the tab says in its title and its icon how many requests wait", async (context) => {
  const { program, open, problems } = await stage(context);
  const page = await open("/inbox");
  const icon = () => page.locator("link[rel=icon]").getAttribute("href").then(decodeURIComponent);
  await page.getByText("Nothing waits for you").waitFor();
  assert.match(await icon(), /calm/);
  await program.say("run date; run ls");
  await card(page, "ls").waitFor();
  assert.match(await page.title(), /^\(2\)/);
  assert.match(await icon(), />2<\/text>/);
  // It is a picture: the browser can draw it.
  const width = await page.evaluate(async () => {
    const image = new Image();
    image.src = document.querySelector("link[rel=icon]").href;
    await image.decode();
    return image.naturalWidth;
  });
  assert.ok(width > 0);
  await (await armed(card(page, "ls"))).getByRole("button", { name: /Approve once/ }).click();
  await page.waitForFunction(() =>
    decodeURIComponent(document.querySelector("link[rel=icon]").href).includes(">1</text>"),
  );
  assert.deepEqual(problems, []);
});

test("notifications come only when they were turned on, and do not say what would run", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/");
  await watchNotifications(page);
  const bell = page.getByRole("button", { name: "Notifications of new requests" });
  await bell.waitFor();
  await lookAway(page);
  await program.say("run date");
  await card(page, "date").waitFor();
  assert.equal(await bell.getAttribute("aria-pressed"), "false");
  await bell.click();
  await page.locator("[aria-pressed=true][aria-label^=Notifications]").waitFor();
  assert.deepEqual(await page.evaluate(() => window.told.length), 0, "what waited before is no news");
  await sayElsewhere(program, "run echo token-1234");
  await page.waitForFunction(() => window.told.length === 1);
  const told = await page.evaluate(() => ({ ...window.told[0] }));
  assert.match(told.title, /waits for your word/);
  assert.match(told.body, /shell_cmd · /);
  assert.ok(!JSON.stringify(told).includes("token-1234"));
  const request = (await program.waiting()).find((one) => JSON.stringify(one.arguments).includes("token-1234"));
  await page.evaluate(() => window.told[0].onclick());
  await page.waitForFunction((id) => document.activeElement?.id === `card-${id}`, request.id);
  // Decided elsewhere, it goes.
  await sayElsewhere(program, "run echo more");
  await page.waitForFunction(() => window.told.length === 2);
  const more = (await program.waiting()).find((one) => JSON.stringify(one.arguments).includes("more"));
  await program.api(`/api/approvals/${more.id}`, { decision: "deny", agent_id: more.agent_id, tool: more.tool });
  await page.waitForFunction(() => !window.told[1].isOpen);
});

test("a new request is read aloud also where no list of them is shown, and has a link of its own", async (context) => {
  const { program, open } = await stage(context);
  const page = await open("/", { viewport: { width: 390, height: 800 } });
  await page.getByLabel("Message", { exact: true }).waitFor();
  await program.say("run date");
  await page
    .locator("[aria-live=polite]", { hasText: "1 request waiting for approval" })
    .waitFor({ state: "attached" });
  const [request] = await program.waiting();
  await page.goto(`${program.url}/inbox`);
  await card(page, "date")
    .getByRole("link", { name: /Link to this request/ })
    .click();
  await page.waitForURL(new RegExp(`/inbox/${request.id}$`));
  await page.waitForFunction((id) => document.activeElement?.id === `card-${id}`, request.id);
});
