// With tokens everybody signs in; what somebody may not do is not offered to them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { armed, card, stage } from "../harness.mjs";

test("a token signs in, decides under its name, and is in no storage of the page", async (context) => {
  const { program, open, problems } = await stage(context);
  await program.say("run date");
  const { token } = await program.api("/api/tokens", { name: "maria", role: "admin" });
  const page = await open("/inbox");
  await page.waitForURL(/\/sign-in$/);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/inbox$/);
  const waiting = await armed(card(page, "date"));
  await waiting.getByRole("button", { name: /Approve once/ }).click();
  await page.locator(".card.settled").getByText("Approved once by you").waitFor();
  const stored = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
  );
  assert.ok(!stored.includes(token));
  await page.reload();
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  assert.deepEqual(problems, []);
});

test("whoever signs in comes to what they wanted, down to the part of the settings", async (context) => {
  const { program, open } = await stage(context);
  const { token } = await program.api("/api/tokens", { name: "maria", role: "admin" });
  const page = await open("/w/demo/settings#policy");
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/w\/demo\/settings#policy$/);
  await page.getByRole("tab", { name: "Policy", selected: true }).waitFor();
});

test("a viewer reads and is offered nothing more", async (context) => {
  const { program, open } = await stage(context);
  await program.say("run date");
  const owner = await program.api("/api/tokens", { name: "root", role: "admin" });
  const made = await fetch(`${program.url}/api/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ name: "guest", role: "viewer" }),
  });
  const { token } = await made.json();
  const page = await open("/");
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Your role lets you read, not write.").waitFor();
  assert.equal(await page.getByRole("button", { name: "New chat" }).count(), 0);
  await card(page, "date").waitFor();
  assert.equal(await page.getByRole("button", { name: /Approve/ }).count(), 0);
  await page.getByText("Your role lets you see requests, not decide them.").waitFor();
  await page.getByText("guest · may only look").waitFor();
  await page.getByText("1 request waits for an approver").waitFor();
  await page.goto(`${program.url}/worlds`);
  await page.getByRole("heading", { name: "Demo" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "New world" }).count(), 0);
});
