// Texts that try to do more than be read, at full size, whole and in pieces, from people and from models: they are read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LARGE, NAME, TEXTS } from "../corpus.mjs";
import { armed, card, stage } from "../harness.mjs";
import { answered, lastSaid, Vendor } from "../vendor.mjs";
import { responds, strange, watch } from "../watch.mjs";

const ALL = { ...TEXTS, ...LARGE };
/** Elements of a whole page with anything in it. */
const MOST = 40_000;

async function watched(context, options) {
  const scene = await stage(context, options);
  const own = await scene.browser.newContext({ viewport: { width: 1280, height: 800 } });
  const found = await watch(own, scene.program.url);
  const page = await own.newPage();
  page.setDefaultTimeout(60_000);
  return { ...scene, page, found };
}

async function isHarmless(page, found, what) {
  assert.deepEqual(await strange(page), [], what);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(elements < MOST, `${what}: ${elements} elements`);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wider <= 0, `${what} is ${wider} pixels too wide`);
  await responds(page);
  assert.deepEqual(found, [], what);
}

test("what somebody sends is shown as text, whole", async (context) => {
  const { program, page, found } = await watched(context);
  await program.api("/api/worlds", { name: "Quiet", agents: [] });
  for (const [what, content] of Object.entries(ALL)) {
    const chat = await program.api("/api/worlds/quiet/chats", {});
    await program.api(`/api/worlds/quiet/chats/${chat.id}/messages`, { content: `${content}` });
    await page.goto(`${program.url}/w/quiet/c/${chat.id}`);
    await page.locator(".message.mine .prose").waitFor();
    await isHarmless(page, found, what);
  }
});

test("what a model writes is shown as text, piece by piece and after a reload", async (context) => {
  const names = Object.keys(ALL);
  const vendor = new Vendor(async (question, write) => {
    const what = /say: (.*)/.exec(lastSaid(question))?.[1];
    const text = ALL[what] ?? "nothing";
    // Short ones come in so small pieces that every tag is half open for a while.
    await write.pieces(text, text.length < 20_000 ? 7 : 8_192);
    await write.text("\n\nThe end.");
  });
  const { program, page, found } = await watched(context, { vendor });
  await program.api("/api/worlds", {
    name: "Loud",
    title_model: "demo/demo",
    agents: [{ id: "eve", model: "groq/loud" }],
  });
  for (const what of names) {
    const chat = await program.api("/api/worlds/loud/chats", {});
    await page.goto(`${program.url}/w/loud/c/${chat.id}`);
    await page.getByRole("heading", { name: "Who is here" }).waitFor();
    await page.getByLabel("Message", { exact: true }).fill(`say: ${what}`);
    await page.keyboard.press("Enter");
    const reply = page.locator(".message:not(.mine)");
    await reply.locator(".message-actions").waitFor({ state: "attached" });
    // What is too long to be drawn at once says so.
    const end = reply.locator(".prose").getByText("The end.", { exact: true });
    await end
      .or(reply.getByRole("button", { name: /Show more/ }))
      .last()
      .waitFor();
    await isHarmless(page, found, `${what}, in pieces`);
  }
  await page.reload();
  await page.locator(".message:not(.mine) .prose").waitFor();
  await isHarmless(page, found, "after a reload");
});

test("what turns or hides text is made visible", async (context) => {
  const { program, page } = await watched(context);
  await program.say(`${TEXTS["text that turns"]}\n\n${TEXTS["what cannot be seen"].replaceAll("\u0000", "")}`);
  const chat = await program.chat();
  await page.goto(`${program.url}/w/demo/c/${chat.id}`);
  const prose = page.locator(".message.mine .prose");
  await prose.waitFor();
  const shown = await prose.evaluate((one) => one.innerText);
  for (const hidden of ["\u202E", "\u2066", "\u001B", "\u{E0041}"])
    assert.ok(!shown.includes(hidden), `U+${hidden.codePointAt(0).toString(16)} is there as it is`);
  assert.ok((await prose.locator(".hidden").count()) > 5);
});

test("names, arguments, results and requests are text too, in every view", async (context) => {
  const bad = `${NAME}\n${TEXTS["event handlers"]}`;
  const vendor = new Vendor(async (question, write) => {
    if (answered(question) > 0) return void (await write.text(`Done. ${NAME}`));
    await write.call("shell_cmd", { command: "echo", parameters: [bad] }, 0);
    await write.call("write_file", { path: "a<b onclick=ran=1>.html", content: Object.values(TEXTS).join("\n") }, 1);
    await write.call("fetch_url", { url: `https://evil.example/${encodeURIComponent(NAME)}` }, 2);
    await write.call(`no_such<img src=x onerror=ran=1>`, { [NAME]: bad }, 3);
    return "tool_calls";
  });
  const { program, page, found } = await watched(context, { vendor });
  await program.api("/api/worlds", {
    id: "bad",
    name: NAME,
    description: bad,
    title_model: "demo/demo",
    variables: { note: bad },
    agents: [{ id: "eve", name: `Eve ${NAME.slice(0, 60)}`, model: "groq/bad", instructions: bad }],
  });
  const chat = await program.api("/api/worlds/bad/chats", { title: NAME });
  const home = `/w/bad/c/${chat.id}`;
  await page.goto(program.url + home);
  await page.getByLabel("Message", { exact: true }).fill(bad);
  await page.keyboard.press("Enter");
  const first = await armed(card(page, "wants to use shell_cmd"));
  assert.deepEqual(await strange(page), []);
  for (const more of await first.locator("details.more summary").all()) await more.click();
  await first.getByRole("button", { name: /Approve once/ }).click();
  await page.locator(".call", { hasText: "shell_cmd" }).getByText("Done").waitFor();
  const second = await armed(card(page, "wants to use write_file"));
  await second.getByRole("button", { name: /Deny/ }).click();
  await second.getByLabel(/Why/).fill(bad);
  await second.getByRole("button", { name: "Deny", exact: true }).click();
  await page
    .locator(".card.settled")
    .getByText(/^Denied by/)
    .waitFor();
  for (const head of await page.locator(".call-head").all()) await head.click();
  await page.locator(".call-details").first().waitFor();
  await isHarmless(page, found, "the chat");
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("img");
  assert.deepEqual(found, [], "the switcher");
  const views = {
    "/inbox": ".card, .state",
    "/worlds": ".box",
    "/w/bad": ".state, .message",
    "/w/bad/settings": "[role=tab]",
    "/w/bad/history": "[role=tab]",
    "/audit": ".audit tbody tr",
    "/stats": ".figures",
    [home]: ".message",
  };
  for (const [path, ready] of Object.entries(views)) {
    await page.goto(program.url + path);
    await page.locator(ready).first().waitFor();
    for (const tab of await page.getByRole("tab").all()) {
      await tab.click();
      assert.deepEqual(await strange(page), [], `${path} ${await tab.textContent()}`);
    }
    assert.deepEqual(await strange(page), [], path);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wider <= 0, `${path} is ${wider} pixels too wide`);
    assert.deepEqual(found, [], path);
  }
});
