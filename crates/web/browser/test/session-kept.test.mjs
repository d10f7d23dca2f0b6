// A session that ends, or becomes somebody else's, in the middle of writing: what was written stays, and is sent in nobody
// else's name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

async function withTokens(context) {
  const staged = await stage(context);
  const { program } = staged;
  const chat = await program.chat();
  const boss = await program.api("/api/tokens", { name: "boss", role: "admin" });
  const asBoss = async (path, method = "GET", body = undefined) => {
    const answer = await fetch(program.url + path, {
      method,
      headers: { authorization: `Bearer ${boss.token}`, "content-type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    assert.ok(answer.ok, `${answer.status} ${path}`);
    return answer.status === 204 ? undefined : answer.json();
  };
  const token = (name) => asBoss("/api/tokens", "POST", { name, role: "admin" });
  return { ...staged, chat, asBoss, token };
}

async function signIn(page, token) {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Begins something in every kind of form; each says whether it is still there, and how it is saved. */
const FORMS = {
  Agents: {
    write: async (page) => {
      await page.locator(".agent-box").first().getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Instructions").fill("Be brief.");
    },
    read: (page) => page.getByLabel("Instructions").inputValue(),
    expected: "Be brief.",
    save: "Save",
  },
  World: {
    write: (page) => page.getByLabel("What it is for").fill("Trials."),
    read: (page) => page.getByLabel("What it is for").inputValue(),
    expected: "Trials.",
    save: "Save",
  },
  Policy: {
    write: async (page) => {
      await page.getByRole("button", { name: "deny a command" }).click();
      await page.getByLabel("Why").fill("People publish.");
    },
    read: (page) => page.getByLabel("Why").inputValue(),
    expected: "People publish.",
    save: "Save rules",
  },
  "MCP servers": {
    write: async (page) => {
      await page.getByRole("button", { name: "Add a server" }).click();
      await page.getByLabel("Name").fill("files");
      await page.getByLabel("Command line, or address").fill("no-such-program");
    },
    read: (page) => page.getByLabel("Name").inputValue(),
    expected: "files",
    save: "Add",
  },
};

for (const [tab, form] of Object.entries(FORMS)) {
  test(`what was written under ${tab} is still there after the session ended`, async (context) => {
    const { open, asBoss, token, problems } = await withTokens(context);
    const first = await token("maria");
    const page = await open("/w/demo/settings");
    await signIn(page, first.token);
    await page.getByRole("tab", { name: tab }).click();
    await form.write(page);
    await asBoss(`/api/tokens/${first.id}`, "DELETE");
    await page.getByRole("heading", { name: "You are signed out" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await signIn(page, (await token("maria")).token);
    await page.getByLabel("Token", { exact: true }).waitFor({ state: "detached" });
    assert.equal(await form.read(page), form.expected);
    await page.getByRole("button", { name: form.save, exact: true }).click();
    await page.locator(".toast-good").waitFor();
    assert.deepEqual(problems, []);
  });
}

test("nothing is sent in the name of somebody who signed in in another tab", async (context) => {
  const { program, open, chat, asBoss, token } = await withTokens(context);
  const [ada, maria] = [await token("ada"), await token("maria")];
  const page = await open(`/w/demo/c/${chat.id}`);
  await signIn(page, ada.token);
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("from ada");
  // The other tab's stream of events tells this one nothing: only the cookie is the same.
  await page.route("**/api/session", (route) => route.abort());
  const other = await page.context().newPage();
  await other.goto(`${program.url}/`);
  await other.getByText("Demo").first().waitFor();
  await other.evaluate(async (secret) => {
    await fetch("/api/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: secret }),
    });
  }, maria.token);
  await other.close();
  await page.unroute("**/api/session");
  await field.press("Enter").catch(() => {});
  await page.getByRole("heading", { name: /signed/ }).waitFor();
  const said = () =>
    asBoss(`/api/worlds/demo/chats/${chat.id}/messages`).then((found) =>
      found.data.filter((one) => one.role === "user").map((one) => `${one.user}: ${one.content}`),
    );
  await page.locator(".notice-line", { hasText: "maria is signed in in this browser now" }).waitFor();
  assert.deepEqual(await said(), []);
  await signIn(page, ada.token);
  await page.locator(".message.mine", { hasText: "from ada" }).waitFor();
  assert.deepEqual(await said(), ["ada: from ada"]);
});
