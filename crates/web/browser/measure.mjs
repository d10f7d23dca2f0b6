// Measures the page and prints what it found: `npm run measure`. Nothing here passes or fails: times are those of a machine.
// Use a program that was built for speed, and a machine that does nothing else.

import { stage } from "./harness.mjs";
import { Vendor } from "./vendor.mjs";

const MESSAGES = 5_000;
const REPLY = 16 * 1024;
const TOKENS_PER_SECOND = 400;
/** Characters of a token, about. */
const TOKEN = 4;
const TIMES = 3;

const ends = [];
const context = { after: (end) => ends.push(end) };
const print = (what, number, unit, wanted) =>
  console.log(`${what.padEnd(58)} ${String(number).padStart(9)} ${unit.padEnd(6)} ${wanted ?? ""}`);

/** A message as people and models write them: some short, some with lists, tables and code. */
function content(number) {
  const kinds = [
    `message ${number}`,
    `message ${number}\n\n- first **thing**\n- second \`thing\`\n- third`,
    `message ${number}: ${"a few more words, ".repeat(number % 23)}`,
    `message ${number}\n\n\`\`\`rust\nfn main() {\n    let number = ${number};\n    println!("{number}");\n}\n\`\`\`\n\nand so on`,
    `message ${number}\n\n| a | b |\n|---|---|\n| 1 | ${number} |\n| 2 | b |`,
  ];
  return kinds[number % kinds.length];
}

function reply() {
  const part = (at) =>
    `## Part ${at}\n\nA paragraph with **bold** words and \`code\`, long enough to be a paragraph: ${"word ".repeat(30)}\n\n` +
    `- one\n- two\n- three\n\n\`\`\`js\nconst part = ${at};\nfor (const one of parts) console.log(one, part);\n\`\`\`\n\n`;
  let text = "";
  for (let at = 1; text.length < REPLY; at += 1) text += part(at);
  return text.slice(0, REPLY);
}

async function session(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  return async () => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
}

const middle = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

async function firstView({ open, program }) {
  const page = await open("/inbox");
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
  const files = new Map();
  cdp.on("Network.responseReceived", ({ requestId, response }) =>
    files.set(requestId, { url: response.url, bytes: 0 }),
  );
  cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const file = files.get(requestId);
    if (file) file.bytes = encodedDataLength;
  });
  await page.goto(`${program.url}/`);
  await page.getByLabel("Message", { exact: true }).waitFor();
  const all = [...files.values()];
  const sum = (wanted) => all.filter(wanted).reduce((bytes, file) => bytes + file.bytes, 0);
  print(
    "first view, the page's own files, compressed",
    sum((file) => !file.url.includes("/api/")),
    "bytes",
    "(150,000)",
  );
  print(
    "first view, with what it asks the interface",
    sum(() => true),
    "bytes",
  );
  print("first view, requests", all.length, "");
  await page.context().close();
}

async function longChat({ open, program }) {
  // Each message is followed by a notice that nobody lives here: it is a message of its own.
  await program.api("/api/worlds", { name: "Long", agents: [] });
  const chat = await program.chat("long");
  const path = `/api/worlds/long/chats/${chat.id}/messages`;
  const begun = performance.now();
  let number = 0;
  const post = async () => {
    while (number < MESSAGES - 1) await program.api(path, { content: content(number++) });
  };
  await Promise.all(Array.from({ length: 8 }, post));
  await program.api(path, { content: content(MESSAGES - 1) });
  print("posting 5,000 messages", ((performance.now() - begun) / 1_000).toFixed(1), "s");
  const last = (page) =>
    page.waitForFunction(
      (text) => {
        const list = document.querySelector(".list");
        if (!list || list.scrollHeight - list.scrollTop - list.clientHeight > 5) return false;
        const found = [...document.querySelectorAll(".message.mine .prose")].at(-1);
        return found?.textContent.includes(text) ? performance.now() : false;
      },
      `message ${MESSAGES - 1}`,
      { polling: "raf" },
    );
  const cold = [];
  for (let time = 0; time < TIMES; time += 1) {
    const page = await open("/inbox");
    await page.goto("about:blank");
    await page.goto(`${program.url}/w/long/c/${chat.id}`, { waitUntil: "commit" });
    cold.push(await (await last(page)).jsonValue());
    await page.context().close();
  }
  print(
    "opens a chat of 5,000 messages, from its address",
    Math.round(middle(cold)),
    "ms",
    `(1,500) of ${cold.map(Math.round)}`,
  );
  const warm = [];
  const page = await open("/inbox");
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  for (let time = 0; time < TIMES; time += 1) {
    await page.keyboard.press("Escape");
    const start = await page.evaluate(() => performance.now());
    await page.locator(`.sidebar a[href$="${chat.id}"]`).click();
    warm.push((await (await last(page)).jsonValue()) - start);
    await page.locator('.sidebar a[href="/inbox"]').click();
    await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  }
  print("opens it from the list of chats", Math.round(middle(warm)), "ms", `of ${warm.map(Math.round)}`);
  await page.locator(`.sidebar a[href$="${chat.id}"]`).click();
  await last(page);
  print("elements of the page then", await page.evaluate(() => document.querySelectorAll("*").length), "");
  await scroll(page, "up, loading as it goes", -1);
  await scroll(page, "down again", 1);
  await scroll(page, "up again, all of it there", -1);
  print("elements of the page then", await page.evaluate(() => document.querySelectorAll("*").length), "");
  await page.context().close();
}

/** Scrolls for a while by wheel as a hand would, and counts frames. */
async function scroll(page, what, way) {
  const read = await session(page);
  const cdp = await page.context().newCDPSession(page);
  await page.evaluate(() => {
    window.frames_ = [];
    const frame = (now) => {
      window.frames_.push(now);
      window.counting = requestAnimationFrame(frame);
    };
    window.counting = requestAnimationFrame(frame);
  });
  const before = await read();
  await cdp.send("Input.synthesizeScrollGesture", {
    x: 640,
    y: 400,
    yDistance: way * -12_000,
    speed: 3_000,
    preventFling: true,
  });
  const after = await read();
  const frames = await page.evaluate(() => {
    cancelAnimationFrame(window.counting);
    return window.frames_;
  });
  const gaps = frames.slice(1).map((at, place) => at - frames[place]);
  const time = frames.at(-1) - frames[0];
  print(`scrolling ${what}`, ((gaps.length * 1_000) / time).toFixed(1), "fps", "(50)");
  print(
    "  slowest frame; frames over 34 ms",
    `${Math.round(Math.max(...gaps))} ms; ${gaps.filter((gap) => gap > 34).length} of ${gaps.length}`,
    "",
  );
  print("  main thread", ((100 * (after.TaskDuration - before.TaskDuration)) / (time / 1_000)).toFixed(0), "%");
}

async function streaming({ open, program }) {
  await program.api("/api/worlds", {
    name: "Loud",
    title_model: "demo/demo",
    agents: [{ id: "eve", model: "groq/loud" }],
  });
  const chat = await program.chat("loud");
  const page = await open(`/w/loud/c/${chat.id}`);
  await page.getByLabel("Message", { exact: true }).waitFor();
  const read = await session(page);
  const idle = await read();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 2_000)));
  const still = await read();
  await program.say("go", "loud");
  const before = await read();
  await page.locator(".message:not(.mine) .message-actions").waitFor({ state: "attached", timeout: 120_000 });
  const after = await read();
  const cost = (name) => ((after[name] - before[name]) * 1_000).toFixed(0);
  print(`a reply of ${REPLY} bytes took`, (after.Timestamp - before.Timestamp).toFixed(1), "s");
  print("  main thread", cost("TaskDuration"), "ms", "(3,000)");
  print(
    "  of that scripts, layout, styles",
    `${cost("ScriptDuration")}, ${cost("LayoutDuration")}, ${cost("RecalcStyleDuration")}`,
    "ms",
  );
  print(
    "  layouts, style passes",
    `${after.LayoutCount - before.LayoutCount}, ${after.RecalcStyleCount - before.RecalcStyleCount}`,
    "",
  );
  print(
    "main thread of a page where nothing happens, 2 s",
    ((still.TaskDuration - idle.TaskDuration) * 1_000).toFixed(0),
    "ms",
  );
  await page.context().close();
}

/** Says its reply token by token, as fast as wanted on average, however late a timer is. */
async function fast(_, write) {
  const text = reply();
  const begin = performance.now();
  for (let at = 0; at < text.length;) {
    const due = Math.min(text.length, Math.ceil(((performance.now() - begin) / 1_000) * TOKENS_PER_SECOND + 1) * TOKEN);
    for (; at < due; at += TOKEN) await write.text(text.slice(at, at + TOKEN));
    await new Promise((done) => setTimeout(done, 1_000 / TOKENS_PER_SECOND));
  }
}

try {
  const made = await stage(context, { vendor: new Vendor(fast) });
  await firstView(made);
  await streaming(made);
  await longChat(made);
  if (made.problems.length > 0) console.log(made.problems);
} finally {
  for (const end of ends) await end();
}
