// What a running tool asks: it is answered in its own fields, and what is typed goes there.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

/** A server with one tool that asks something before it answers. */
const SERVER = `
import { createInterface } from "node:readline";
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
let call;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "initialize")
    say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} },
      serverInfo: { name: "asker", version: "1.0.0" } } });
  else if (method === "tools/list")
    say({ id, result: { tools: [{ name: "order", description: "Orders lunch", inputSchema: { type: "object" } }] } });
  else if (method === "tools/call") {
    call = id;
    say({ id: "question", method: "elicitation/create", params: { message: "What shall it be?",
      requestedSchema: JSON.parse(process.env.SCHEMA) } });
  } else if (id === "question")
    say({ id: call, result: { content: [{ type: "text", text: "ordered " + JSON.stringify(result.content) }] } });
  else if (method !== undefined && id !== undefined) say({ id, result: {} });
});
`;

/** A question of a tool, above a request that waits. */
async function asked(context, properties) {
  const { program, open } = await stage(context);
  const script = join(program.data, "asker.mjs");
  await writeFile(script, SERVER);
  const schema = { type: "object", properties, required: [] };
  await program.api("/api/worlds/demo/mcp-servers", {
    name: "asker",
    command: process.execPath,
    args: [script],
    env: { SCHEMA: JSON.stringify(schema) },
  });
  const page = await open("/inbox");
  for (;;) {
    const { health } = await program.api("/api/worlds/demo/mcp-servers/asker");
    if (health?.state === "ready") break;
    await new Promise((done) => setTimeout(done, 50));
  }
  await program.say("call asker.order {}");
  await (await armed(card(page, "asker.order"))).getByRole("button", { name: /Approve once/ }).click();
  const question = card(page, "What shall it be?");
  await question.waitFor();
  const other = await program.api("/api/worlds/demo/chats", {});
  await program.api(`/api/worlds/demo/chats/${other.id}/messages`, { content: "run date" });
  await armed(card(page, "$ date"));
  return { program, page, question };
}

test("the answer to a question goes into its first field at once", async (context) => {
  const { program, page, question } = await asked(context, {
    dish: { type: "string", title: "Dish" },
    spoons: { type: "integer", title: "Spoons" },
  });
  await question.focus();
  await armed(question);
  await page.keyboard.press("o");
  await page.keyboard.type("just a yellow lentil soup");
  assert.equal(await question.getByLabel("Dish").inputValue(), "just a yellow lentil soup");
  assert.equal((await program.waiting()).length, 2);
  // Who goes back and comes again finds what was written.
  await page.keyboard.press("Escape");
  await armed(question);
  await page.keyboard.press("e");
  assert.equal(await question.getByLabel("Dish").inputValue(), "just a yellow lentil soup");
  await page.keyboard.press("Tab");
  await page.keyboard.type("2");
  await page.keyboard.press("Enter");
  await page.locator(".card.settled", { hasText: "Approved" }).last().waitFor();
  const chat = (await program.api("/api/worlds/demo/chats")).data.find((one) => one.activity.waiting_approvals === 0);
  await page.goto(`${program.url}/w/demo/c/${chat.id}`);
  await page.locator(".call", { hasText: "asker.order" }).getByText("Done").waitFor();
  await page.locator(".call-head").click();
  await page.locator(".call-details", { hasText: 'ordered {"dish":"just a yellow lentil soup","spoons":2}' }).waitFor();
});

test("a question that begins with a choice has the focus there", async (context) => {
  const { program, page, question } = await asked(context, {
    size: { type: "string", title: "Size", enum: ["small", "large"] },
    bread: { type: "boolean", title: "Bread" },
  });
  await question.focus();
  await armed(question);
  await page.keyboard.press("e");
  await question.locator("select:focus").waitFor();
  await page.keyboard.type("l");
  await page.keyboard.press("Tab");
  await question.getByRole("checkbox").and(page.locator(":focus")).waitFor();
  // Neither leads away from here.
  await page.keyboard.type("jk");
  await question.getByRole("checkbox").and(page.locator(":focus")).waitFor();
  assert.equal(await question.locator("select").inputValue(), "large");
  assert.equal((await program.waiting()).length, 2);
});
