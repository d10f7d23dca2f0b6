// Looks at every view with something in it, in light and dark, on a desk and on a phone: nothing keeps anybody from using it.
// With AGENT_WORLD_SHOTS a picture of each is put into that folder. Three are in the README; AGENT_WORLD_README=1 makes them anew.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { wrong } from "../axe.mjs";
import { armed, card, stage } from "../harness.mjs";
import { setUp, vendor } from "../scenes.mjs";

const SHOTS = process.env.AGENT_WORLD_SHOTS;
const IMAGES = fileURLToPath(new URL("../../../../docs/images/", import.meta.url));
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
/** Bytes of a picture in the README. */
const LARGEST = 150_000;

const isPhone = (page) => page.viewportSize().width < 800;
const settings =
  (tab, more) =>
  async (page, { go }) => {
    await go("/w/orders/settings", ".agent-box");
    await page.getByRole("tab", { name: tab }).click();
    await page.getByRole("tab", { name: tab, selected: true }).waitFor();
    await more?.(page);
  };
const history =
  (tab, ready) =>
  async (page, { go }) => {
    await go("/w/orders/history", "[role=tab]");
    await page.getByRole("tab", { name: tab }).click();
    await page.locator(ready).first().waitFor();
  };
const step =
  (button, ready) =>
  async (page, { go }) => {
    await go("/inbox", ".card");
    const one = await armed(card(page, "cargo test"));
    await one.getByRole("button", { name: button }).click();
    await one.locator(ready).first().waitFor();
    await armed(one);
  };

/** How to get to each view. */
const VIEWS = {
  chat: (page, { go, bug }) => go(`/w/orders/c/${bug}`, ".card, .waiting-pill"),
  "chat-beginning": async (page, { go, bug }) => {
    await go(`/w/orders/c/${bug}`, ".prose table");
    await page.locator(".list").evaluate((list) => (list.scrollTop = 0));
    await page.waitForFunction(() => document.querySelector(".list").scrollTop === 0);
  },
  "chat-calls": async (page, { go, notes }) => {
    await go(`/w/orders/c/${notes}`, ".call");
    await page.locator(".call-head").first().click();
    await page.locator(".call-details").waitFor();
  },
  "chat-mention": async (page, { go, bug }) => {
    await go(`/w/orders/c/${bug}`, ".message");
    await page.getByLabel("Message", { exact: true }).fill("Thanks! ");
    await page.keyboard.type("@");
    await page.getByRole("option").first().waitFor();
    // The draft would be in all pictures after this one.
    await page.evaluate(() => localStorage.clear());
  },
  "chat-edit": async (page, { go, notes }) => {
    await go(`/w/orders/c/${notes}`, ".message");
    await page.locator(".message.mine").hover();
    await page.getByRole("button", { name: "Edit and send again" }).first().click();
    await page.locator(".edit textarea").waitFor();
  },
  "chat-menu": async (page, { go, notes }) => {
    await go(`/w/orders/c/${notes}`, ".message");
    await page.locator(".message.mine").hover();
    await page.locator(".message.mine").getByRole("button", { name: "More" }).click();
    await page.getByRole("menu").waitFor();
  },
  "chat-empty": async (page, { go, empty }) => go(`/w/orders/c/${empty}`, ".welcome"),
  "chat-demo": async (page, { go, demo }) => go(`/w/demo/c/${demo}`, ".welcome"),
  list: async (page, { go, bug }) => {
    await go(`/w/orders/c/${bug}`, ".message");
    if (isPhone(page)) {
      await page.getByRole("button", { name: "Worlds and chats" }).click();
      await page.locator(".drawer-open").waitFor();
    }
  },
  inbox: (page, { go }) => go("/inbox", ".card"),
  "inbox-lasting": step(/This chat/, "input[type=radio]"),
  "inbox-edit": step(/Edit/, "textarea"),
  "inbox-deny": step(/Deny/, "input"),
  "inbox-rules": async (page, { go }) => {
    await go("/inbox", ".card");
    const one = await armed(card(page, "cargo test"));
    for (const more of await one.locator("details.more summary").all()) await more.click();
    await one.locator(".context li").first().waitFor();
  },
  worlds: (page, { go }) => go("/worlds", ".box"),
  "world-new": async (page, { go }) => {
    await go("/worlds", ".box");
    await page.getByRole("button", { name: "New world" }).click();
    await page.getByRole("dialog").waitFor();
  },
  world: (page, { go }) => go("/w/home-lab", ".state, .message, .box"),
  "settings-agents": settings("Agents"),
  "settings-agent": settings("Agents", async (page) => {
    await page.locator(".agent-box").first().getByRole("button", { name: "Edit" }).click();
    await page.getByRole("dialog").waitFor();
  }),
  "settings-world": settings("World"),
  "settings-policy": settings("Policy", (page) => page.locator(".verdict").waitFor()),
  "settings-permissions": settings("Permissions"),
  "settings-servers": settings("MCP servers", async (page) => {
    await page.getByRole("button", { name: "Add a server" }).click();
    await page.getByLabel("Name").waitFor();
  }),
  "settings-export": settings("Export"),
  "settings-delete": settings("Export", async (page) => {
    await page.getByRole("button", { name: "Delete this world" }).click();
    await page.getByRole("dialog").waitFor();
  }),
  "history-timeline": history("Timeline", ".timeline summary"),
  "history-graph": history("Who called whom", ".graph svg"),
  audit: (page, { go }) => go("/audit", ".audit tbody tr"),
  stats: (page, { go }) => go("/stats", ".figures"),
  switcher: async (page, { go, bug }) => {
    await go(`/w/orders/c/${bug}`, ".message");
    await page.keyboard.press("Control+k");
    await page.getByRole("option").first().waitFor();
  },
  keys: async (page, { go }) => {
    await go("/inbox", ".card");
    await page.locator("#main").focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
  },
  missing: (page, { go }) => go("/w/nowhere", ".state"),
};

async function scene(context) {
  const made = await stage(context, { vendor: vendor() });
  const chats = await setUp(made.program);
  return { ...made, ...chats };
}

async function opened(made, viewport, colorScheme) {
  const options = { viewport, colorScheme, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" };
  const page = await made.open("/inbox", options);
  const go = async (path, ready) => {
    await page.goto(made.program.url + path);
    await page.locator(ready).first().waitFor();
    await page.waitForFunction(() => !document.querySelector(".arming, .skeleton, .spinner"));
  };
  return { page, go };
}

/** What is drawn in the end: fonts are there, and nothing is between two states. */
async function settled(page) {
  await page.evaluate(async () => {
    await document.fonts.ready;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
}

for (const [device, viewport] of Object.entries({ desk: DESK, phone: PHONE })) {
  for (const scheme of ["light", "dark"]) {
    test(`every view, ${device}, ${scheme}`, async (context) => {
      const made = await scene(context);
      made.empty = (await made.program.api("/api/worlds/orders/chats", {})).id;
      made.demo = (await made.program.chat("demo")).id;
      const { page, go } = await opened(made, viewport, scheme);
      const found = [];
      if (SHOTS) await mkdir(SHOTS, { recursive: true });
      for (const [name, show] of Object.entries(VIEWS)) {
        await show(page, { ...made, go });
        await settled(page);
        if (SHOTS) await page.screenshot({ path: join(SHOTS, `${name}-${device}-${scheme}.png`) });
        found.push(...(await wrong(page, name)));
      }
      const { token } = await made.program.api("/api/tokens", { name: "maria", role: "admin" });
      await page.goto(`${made.program.url}/sign-in`);
      await page.getByLabel("Token").fill("wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").waitFor();
      await settled(page);
      if (SHOTS) await page.screenshot({ path: join(SHOTS, `sign-in-${device}-${scheme}.png`) });
      found.push(...(await wrong(page, "sign-in")));
      assert.ok(token);
      assert.deepEqual(found, []);
      assert.deepEqual(made.problems, []);
    });
  }
}

/** The chat by itself, where somebody has found something and somebody else answers. */
async function talk(page, { go, bug }) {
  await go(`/w/orders/c/${bug}`, ".prose table");
  await page
    .locator(".panel-head")
    .getByRole("button", { name: /Close|Hide/ })
    .click();
  await page
    .locator(".message", { hasText: "The week changes" })
    .evaluate((one) => one.scrollIntoView({ block: "start" }));
}

/** Name, size, colours and view of those in the README. */
const README = [
  ["chat", DESK, "light", talk],
  ["approval", DESK, "light", VIEWS.inbox],
  ["history", DESK, "dark", VIEWS["history-graph"]],
];

test("the pictures in the README can be made, and are small", async (context) => {
  const made = await scene(context);
  await made.program.api("/api/worlds/demo", undefined, "DELETE");
  const text = await readFile(new URL("../../../../README.md", import.meta.url), "utf8");
  for (const [name, viewport, scheme, view] of README) {
    const { page, go } = await opened(made, viewport, scheme);
    await view(page, { ...made, go });
    await settled(page);
    const picture = await page.screenshot();
    if (process.env.AGENT_WORLD_README) await writeFile(join(IMAGES, `${name}.png`), picture);
    assert.ok(picture.length <= LARGEST, `${name} has ${picture.length} bytes`);
    const kept = await readFile(join(IMAGES, `${name}.png`));
    // Width and height stand in the same place in every PNG.
    const size = [kept.readUInt32BE(16), kept.readUInt32BE(20)];
    assert.deepEqual(size, [viewport.width, viewport.height], name);
    assert.ok(kept.length <= LARGEST, `docs/images/${name}.png has ${kept.length} bytes`);
    assert.ok(text.includes(`docs/images/${name}.png`), `the README shows no ${name}.png`);
    await page.close();
  }
});
