// A session that ends in the middle of something: it is said, and the way back leads to where somebody was.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("whose token is taken back is told so and goes on where they were with another", async (context) => {
  const { program, open, problems } = await stage(context);
  const chat = await program.chat();
  const boss = await program.api("/api/tokens", { name: "boss", role: "admin" });
  const asBoss = (path, method, body) =>
    fetch(program.url + path, {
      method,
      headers: { authorization: `Bearer ${boss.token}`, "content-type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }).then(async (answer) => {
      assert.ok(answer.ok, `${answer.status} ${path}`);
      return answer.status === 204 ? undefined : answer.json();
    });
  const first = await asBoss("/api/tokens", "POST", { name: "maria", role: "member" });
  const signIn = async (token) => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(new RegExp(`/c/${chat.id}$`));
    await page.getByLabel("Message", { exact: true }).waitFor();
  };
  const page = await open(`/w/demo/c/${chat.id}`);
  await page.getByLabel("Token").waitFor();
  assert.equal(await page.getByText("You are signed out").count(), 0);
  await signIn(first.token);
  await asBoss(`/api/tokens/${first.id}`, "DELETE");
  await page.getByText("You are signed out").waitFor();
  const next = await asBoss("/api/tokens", "POST", { name: "maria", role: "member" });
  await signIn(next.token);
  assert.deepEqual(problems, []);
});
