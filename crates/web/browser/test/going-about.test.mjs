// From every view to every other by its links, as people do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stage } from "../harness.mjs";

test("a link leads to the view that it names, whichever was there before", async (context) => {
  const { open, problems } = await stage(context);
  const page = await open("/stats");
  const title = (name) => page.getByRole("heading", { name, level: 1 }).waitFor();
  const side = (name) => page.getByRole("navigation").getByRole("link", { name }).click();
  await title("Statistics");
  await side("Audit");
  await title("Audit");
  await side("Worlds");
  await title("Worlds");
  await page.getByRole("link", { name: "Settings" }).click();
  await title("Settings of Demo");
  await page.getByRole("link", { name: "History of this world" }).click();
  await title("History of Demo");
  await page.getByRole("link", { name: "Settings of this world" }).click();
  await title("Settings of Demo");
  await side("Inbox");
  await title("Inbox");
  await side("Statistics");
  await title("Statistics");
  for (const name of ["Inbox", "Settings of Demo", "History of Demo", "Settings of Demo", "Worlds", "Audit"]) {
    await page.goBack();
    await title(name);
  }
  assert.deepEqual(problems, []);
});
