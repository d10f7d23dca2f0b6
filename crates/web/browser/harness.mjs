// Starts what the tests need: the real program on a free port with a folder of its own, a browser, and a model that answers
// as slowly as a test wants. Ends all of it when the test ends.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const BINARY =
  process.env.AGENT_WORLD_BIN ?? fileURLToPath(new URL("../../../target/debug/agent-world", import.meta.url));
const BROWSERS = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

function browserPath() {
  const found = process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));
  if (!found) throw new Error("there is no Chromium; install it (apt-get install chromium) or name it in CHROMIUM");
  return found;
}

async function freePort() {
  const server = createSocket();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** The environment without what would change what the program does: keys of vendors, settings of its own. */
function bare() {
  const isKept = ([name]) => !/^AGENT_WORLD_|_API_KEY$|_BASE_URL$|^AZURE_|^OLLAMA_/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(isKept));
}

/** A running program that can be killed and started again on the same data and port. */
export class Program {
  constructor(data, port, env) {
    Object.assign(this, { data, port, env, url: `http://127.0.0.1:${port}` });
  }

  async start() {
    if (!existsSync(BINARY))
      throw new Error(`${BINARY} is missing; build it with cargo build, or name it in AGENT_WORLD_BIN`);
    this.child = spawn(BINARY, ["serve", "--data", this.data, "--listen", `127.0.0.1:${this.port}`], {
      env: { ...bare(), ...this.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    this.child.stdout.on("data", (text) => (said += text));
    this.child.stderr.on("data", (text) => (said += text));
    this.ended = new Promise((done) => this.child.once("exit", done));
    const until = Date.now() + 30_000;
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(`the program ended:\n${said}`);
      const isReady = await fetch(`${this.url}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      );
      if (isReady) return;
      if (Date.now() > until) throw new Error(`the program is not ready:\n${said}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  async kill() {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  async api(path, body, method = body === undefined ? "GET" : "POST") {
    const answer = await fetch(this.url + path, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** The first chat of a world. */
  async chat(world = "demo") {
    const { data } = await this.api(`/api/worlds/${world}/chats`);
    return data[0] ?? (await this.api(`/api/worlds/${world}/chats`, {}));
  }

  async say(content, world = "demo") {
    const chat = await this.chat(world);
    return this.api(`/api/worlds/${world}/chats/${chat.id}/messages`, { content });
  }

  waiting() {
    return this.api("/api/approvals").then((page) => page.data);
  }
}

/** A vendor whose replies come word by word when the test says so. */
export class SlowModel {
  constructor() {
    this.words = [];
    this.pieces = [];
    this.server = createServer((request, response) => {
      request.resume();
      request.on("end", () => this.answer(response));
    });
  }

  async start() {
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  answer(response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, end = null) =>
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "slow", choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`,
      );
    send({ role: "assistant", content: "" });
    this.current = {
      say: (text) => send({ content: text }),
      end: () => {
        send({}, "stop");
        response.end("data: [DONE]\n\n");
      },
    };
    this.begun?.(this.current);
  }

  /** Resolves with the next reply that is asked for. */
  next() {
    return new Promise((done) => (this.begun = done));
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Everything for one test; `context` is the test's own. */
export async function stage(context, { slow = false, vendor = undefined } = {}) {
  const data = await mkdtemp(join(tmpdir(), "agent-world-page-"));
  const model = vendor ?? (slow ? new SlowModel() : undefined);
  await model?.start();
  const env = model ? { GROQ_API_KEY: "k", GROQ_BASE_URL: model.url } : {};
  const program = new Program(data, await freePort(), env);
  await program.start();
  const browser = await chromium.launch({
    executablePath: browserPath(),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  const problems = [];
  context.after(async () => {
    await browser.close();
    await program.kill();
    model?.stop();
    await rm(data, { recursive: true, force: true });
  });
  const open = async (path = "/", options = {}) => {
    const own = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await own.newPage();
    // A machine that also compiles is slow; nothing is waited for longer than it takes.
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
    });
    await page.goto(program.url + path);
    return page;
  };
  return { program, browser, model, open, problems };
}

/** A card that waits, by what its command says. */
export function card(page, text) {
  return page.locator(".card[data-state=pending]", { hasText: text });
}

/** Waits until a card takes answers. */
export async function armed(one) {
  await one.and(one.page().locator(".armed")).waitFor();
  return one;
}
