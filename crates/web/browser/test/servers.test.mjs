// MCP servers of a world: added by fields or as other programs write them, and how they are.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stage } from "../harness.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core");

/** A server with one tool that greets whoever its environment names. */
const SERVER = `
import { createInterface } from "node:readline";
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: "greeter", version: "1.2.3" } });
  else if (method === "tools/list")
    answer(id, { tools: [{ name: "greet", description: "Greets " + (process.env.WHOM ?? "nobody"),
      inputSchema: { type: "object" } }] });
  else if (id !== undefined) answer(id, {});
});
`;

async function openServers(context) {
  const staged = await stage(context);
  const script = join(staged.program.data, "greeter.mjs");
  await writeFile(script, SERVER);
  const page = await staged.open("/w/demo/settings#mcp-servers");
  await page.getByRole("button", { name: "Add a server" }).click();
  return { ...staged, page, script };
}

async function usable(page, what) {
  await page.evaluate(readFileSync(axe, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(
    violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)}`),
    [],
    what,
  );
}

test("a server is added, tells its tools, is changed and switched off", async (context) => {
  const { page, script, problems } = await openServers(context);
  await usable(page, "the form");
  await page.getByLabel("Name").fill("greeter");
  await page.getByLabel("Command line, or address").fill(`node "${script}"`);
  await page.getByLabel("Variables, one on each line").fill("WHOM=ada");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const server = page.locator(".server", { hasText: "greeter" });
  await server.locator(".state-tag", { hasText: "ready" }).waitFor();
  await server.getByText("greeter 1.2.3").waitFor();
  await server.getByText("1 tool").click();
  await server.getByText("Greets ada").waitFor();
  await usable(page, "a server");
  await server.getByRole("button", { name: "Menu of greeter" }).click();
  await page.getByRole("menuitem", { name: "Change" }).click();
  assert.equal(await page.getByLabel("Variables, one on each line").inputValue(), "WHOM=(set)", "values stay hidden");
  await page.getByLabel(/I vouch for it/).check();
  await page.getByRole("button", { name: "Save" }).click();
  await server.getByText("trusted").waitFor();
  await server.locator(".state-tag", { hasText: "ready" }).waitFor();
  await server.getByRole("button", { name: "Menu of greeter" }).click();
  await page.getByRole("menuitem", { name: "Switch off" }).click();
  await server.locator(".state-tag", { hasText: "off" }).waitFor();
  await server.getByRole("button", { name: "Menu of greeter" }).click();
  await page.getByRole("menuitem", { name: "Switch on" }).click();
  await server.locator(".state-tag", { hasText: "ready" }).waitFor();
  await server.getByText("trusted").waitFor();
  assert.deepEqual(problems, []);
});

test("one that cannot start says why, and servers are taken as other programs write them", async (context) => {
  const { page, program, script } = await openServers(context);
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  await page.getByLabel("Servers, as other programs write them").fill(
    JSON.stringify({
      mcpServers: {
        fine: { command: "node", args: [script], alwaysAllow: ["greet"] },
        broken: { command: "no-such-program" },
      },
    }),
  );
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.locator(".server", { hasText: "fine" }).locator(".state-tag", { hasText: "ready" }).waitFor();
  const broken = page.locator(".server", { hasText: "broken" });
  await broken.locator(".state-tag", { hasText: "failed" }).waitFor();
  await broken.getByText("was not found").waitFor();
  await broken.getByText(/tried again/).waitFor();
  // What the page has no field for is still there after a change.
  const fine = page.locator(".server", { hasText: "fine" });
  await fine.getByRole("button", { name: "Menu of fine" }).click();
  await page.getByRole("menuitem", { name: "Change" }).click();
  await page.getByLabel("Longest call, in seconds").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await fine.locator(".state-tag", { hasText: "ready" }).waitFor();
  const kept = await program.api("/api/worlds/demo/mcp-servers/fine");
  assert.deepEqual([kept.alwaysAllow, kept.timeout_seconds], [["greet"], 7]);
});

test("whoever leaves a server that they have begun to write is asked first", async (context) => {
  const { page } = await openServers(context);
  let answer = false;
  const asked = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    return answer ? dialog.accept() : dialog.dismiss();
  });
  await page.getByLabel("Name").fill("files");
  await page.getByRole("tab", { name: "Agents" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Statistics" }).click();
  assert.match(page.url(), /settings#mcp-servers$/);
  assert.equal(await page.getByLabel("Name").inputValue(), "files");
  assert.equal(asked.length, 3);
  answer = true;
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Add a server" }).click();
  assert.equal(await page.getByLabel("Name").inputValue(), "");
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(asked.length, 4, "where nothing was written nobody is asked");
});

test("what somebody else changed meanwhile is not overwritten", async (context) => {
  const { page, program } = await openServers(context);
  await page.getByRole("button", { name: "Cancel" }).click();
  const servers = "/api/worlds/demo/mcp-servers";
  const write = (args) => program.api(servers, { mcpServers: { files: { command: "no-such-program", args } } });
  const change = async () => {
    await page.getByRole("button", { name: "Menu of files" }).click();
    await page.getByRole("menuitem", { name: "Change" }).click();
  };
  await write(["one"]);
  await page.locator(".server", { hasText: "files" }).waitFor();
  await change();
  await page.getByLabel("Longest call, in seconds").fill("7");
  await write(["two"]);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Somebody else changed files meanwhile.").waitFor();
  assert.equal(await page.getByLabel("Longest call, in seconds").inputValue(), "7");
  const now = await program.api(`${servers}/files`);
  assert.deepEqual([now.args, now.timeout_seconds], [["two"], null]);
  await page.getByRole("button", { name: "Reload" }).click();
  // Other settings are no reason to refuse it.
  await page.locator(".server", { hasText: "no-such-program two" }).waitFor();
  await change();
  await page.getByLabel("Longest call, in seconds").fill("9");
  await program.api("/api/worlds/demo", { description: "Changed." }, "PATCH");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".toast", { hasText: "Saved" }).waitFor();
  const saved = await program.api(`${servers}/files`);
  assert.deepEqual([saved.args, saved.timeout_seconds], [["two"], 9]);
  // Nor does what is written go with a server that somebody else removes.
  await page.locator(".server", { hasText: "no-such-program two" }).waitFor();
  await change();
  await page.getByLabel("Longest call, in seconds").fill("11");
  const isListed = page.waitForResponse(
    async (answer) => answer.url().includes(servers) && !(await answer.text()).includes("no-such-program"),
  );
  await program.api(`${servers}/files`, undefined, "DELETE");
  await isListed;
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Somebody else changed files meanwhile.").waitFor();
  assert.equal(await page.getByLabel("Longest call, in seconds").inputValue(), "11");
});

test("a new server takes the place of no other, and secrets that are not shown stay what they are", async (context) => {
  const { page, program } = await openServers(context);
  const servers = "/api/worlds/demo/mcp-servers";
  const files = { command: "no-such-program", args: ["a b", 'c"d', "e\\f"], env: { KEY: "s3cret" } };
  await program.api(servers, { mcpServers: { files } });
  await page.locator(".server", { hasText: "files" }).waitFor();
  await page.getByLabel("Name").fill("files");
  await page.getByLabel("Command line, or address").fill("other");
  // The list was loaded before that one was there, or after.
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText(/Somebody else changed files meanwhile|There is a server files already/).waitFor();
  assert.equal((await program.api(`${servers}/files`)).command, "no-such-program");
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Cancel" }).click();
  const before = await program.api(`${servers}/files`);
  await page.getByRole("button", { name: "Menu of files" }).click();
  await page.getByRole("menuitem", { name: "Change" }).click();
  await page.getByLabel("Longest call, in seconds").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".toast", { hasText: "Saved" }).waitFor();
  const after = await program.api(`${servers}/files`);
  assert.deepEqual([after.args, after.env, after.timeout_seconds], [files.args, before.env, 7]);
});

test("a secret that is masked stays as it is, or is written again, and its mask is never saved", async (context) => {
  const { page, program } = await openServers(context);
  await page.getByRole("button", { name: "Cancel" }).click();
  const secret = `ghp_${"aB3d".repeat(9)}`;
  const servers = "/api/worlds/demo/mcp-servers";
  await program.api(servers, { mcpServers: { files: { command: "no-such-program", args: ["--key", secret] } } });
  const shown = await program.api(`${servers}/files`);
  const where = page.getByLabel("Command line, or address");
  const change = async () => {
    await page.getByRole("button", { name: "Menu of files" }).click();
    await page.getByRole("menuitem", { name: "Change" }).click();
    await page.getByText("A secret in it is masked").waitFor();
  };
  const save = () => page.getByRole("button", { name: "Save" }).click();
  await change();
  const line = await where.inputValue();
  assert.ok(!line.includes(secret));
  await page.getByLabel("Longest call, in seconds").fill("7");
  await save();
  await where.waitFor({ state: "detached" });
  const kept = await program.api(`${servers}/files`);
  assert.deepEqual([kept.args, kept.timeout_seconds], [shown.args, 7]);
  await change();
  await where.fill(line.replace("--key", "--token"));
  await save();
  await page.locator(".warning", { hasText: "masked secret" }).waitFor();
  await where.fill(`no-such-program --token ${secret}`);
  await save();
  await where.waitFor({ state: "detached" });
  const whole = await program.api("/api/worlds/demo/export").then((found) => JSON.stringify(found));
  assert.ok(!whole.includes("secret masked"));
});
