// Calls of tools: what they write while they run, what came of them, and how they are stopped.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

// Writes a line, then waits for a file that the test makes.
const SCRIPT = "echo first line; while [ ! -e go ]; do sleep 0.05; done; echo second line";

async function started(context) {
  const { program, open } = await stage(context);
  const page = await open("/");
  await page.getByLabel("Message", { exact: true }).waitFor();
  await program.say(`call shell_cmd ${JSON.stringify({ script: SCRIPT })}`);
  const waiting = await armed(card(page, "first line"));
  await waiting.getByRole("button", { name: /Approve once/ }).click();
  const call = page.locator(".call");
  await call.locator(".output.tail", { hasText: "first line" }).waitFor();
  await call.locator(".call-state", { hasText: "Running" }).waitFor();
  return { program, page, call };
}

test("what a tool writes is shown while it runs, and its result is folded", async (context) => {
  const { program, call } = await started(context);
  await writeFile(join(program.data, "workspace", "demo", "go"), "");
  await call.locator(".call-state", { hasText: "Done" }).waitFor();
  assert.equal(await call.locator(".output").count(), 0);
  await call.locator(".call-head").click();
  await call.locator(".call-details", { hasText: "second line" }).waitFor();
  await call.getByText("Exit code 0").waitFor();
});

test("work is stopped", async (context) => {
  const { page, call } = await started(context);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await call.locator(".call-state", { hasText: "Cancelled" }).waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
});

test("a model that cannot be asked says why, and is asked again", async (context) => {
  const { program, open } = await stage(context);
  await program.api("/api/worlds", { name: "Lab", agents: [{ id: "eve", model: "openai/none" }] });
  const chat = await program.chat("lab");
  const page = await open(`/w/lab/c/${chat.id}`);
  await page.getByLabel("Message", { exact: true }).fill("hello");
  await page.keyboard.press("Enter");
  const notice = page.locator(".notice-bad", { hasText: "eve could not answer" });
  await notice.waitFor();
  await program.api("/api/worlds/lab/agents/eve", { model: "demo/demo" }, "PATCH");
  await notice.getByRole("button", { name: "Retry" }).click();
  await page.locator(".message:not(.mine) .prose", { hasText: "Hello! Say" }).waitFor();
});
