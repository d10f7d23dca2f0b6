// The program is killed while a model is in the middle of a sentence, and two windows look on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("killed in the middle of a reply: it is asked for again, and stands there once", async (context) => {
  const { program, model, open } = await stage(context, { slow: true });
  await program.api("/api/worlds", {
    name: "Slow",
    title_model: "demo/demo",
    agents: [{ id: "eve", model: "groq/slow" }],
  });
  const chat = await program.chat("slow");
  const pages = [await open(`/w/slow/c/${chat.id}`), await open(`/w/slow/c/${chat.id}`)];
  const asked = model.next();
  await program.say("tell me", "slow");
  const first = await asked;
  // Long enough to be drawn before it goes on.
  first.say(`A beginning that nobody ends. ${"So it goes on and on. ".repeat(10)}`);
  for (const page of pages) await page.getByText("A beginning that nobody ends.").waitFor();
  await program.kill();
  for (const page of pages) await page.locator(".banner", { hasText: "cannot be reached" }).waitFor();
  const again = model.next();
  await program.start();
  const second = await again;
  second.say("Here is the whole of it.");
  second.end();
  for (const page of pages) {
    await page.locator(".message:not(.mine) .prose", { hasText: "Here is the whole of it." }).waitFor();
    await page.locator(".banner").waitFor({ state: "detached" });
    assert.equal(await page.locator(".message.mine").count(), 1);
    assert.equal(await page.locator(".message:not(.mine)").count(), 1, "what was broken off is gone");
  }
});
