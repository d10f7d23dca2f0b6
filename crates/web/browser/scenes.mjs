// A small company's worlds, for pictures and for looking at every view with something in it: agents that look into a bug,
// ask each other, and wait for a person. What the models say is written here; the tools are real.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answered, lastSaid, Vendor } from "./vendor.mjs";

const WEEK = `//! Which week an order belongs to.

use chrono::{Datelike, NaiveDate};

/// Weeks begin on Monday.
pub fn week_of(day: NaiveDate) -> u32 {
    let days = day.num_days_from_ce() as u32;
    days / 7
}

pub fn same_week(a: NaiveDate, b: NaiveDate) -> bool {
    week_of(a) == week_of(b)
}
`;
const FILES = {
  "Cargo.toml": '[package]\nname = "orders"\nversion = "1.4.0"\nedition = "2024"\n',
  "src/lib.rs": "pub mod checkout;\npub mod week;\n",
  "src/week.rs": WEEK,
  "src/checkout.rs":
    "use crate::week::same_week;\n\npub fn discount(orders: usize) -> u32 {\n    if orders > 3 { 10 } else { 0 }\n}\n",
  "tests/checkout.rs": "#[test]\nfn the_fourth_order_of_a_week_is_cheaper() {\n    // ...\n}\n",
};
const FOUND = `The week changes on **Sunday**, not on Monday: day 1 of the calendar that \`num_days_from_ce\` counts from *was* a Monday, so \`days / 7\` turns over one day too early. An order on Sunday evening is counted to the next week, and on Monday the fourth order of the week has become the third.

\`\`\`rust
pub fn week_of(day: NaiveDate) -> u32 {
    // Day 1 was a Monday: weeks begin at 1, 8, 15, ...
    let days = day.num_days_from_ce() as u32;
    (days - 1) / 7
}
\`\`\`

| order placed | week before | week now |
|---|---:|---:|
| Sat 14 Nov | 105 704 | 105 704 |
| Sun 15 Nov | 105 705 | 105 704 |
| Mon 16 Nov | 105 705 | 105 705 |

@bob does anything else rely on the old numbers?`;
const REVIEWED = `I looked through the callers:

1. \`same_week\` compares two results with each other, so it only gets *more* right.
2. Nothing stores a week number, so there is nothing to migrate.

Two wishes: keep the comment about day 1, and add a test for the night from Sunday to Monday.`;
const NEW = WEEK.replace(
  "    let days = day.num_days_from_ce() as u32;\n    days / 7\n",
  "    // Day 1 was a Monday: weeks begin at 1, 8, 15, ...\n    let days = day.num_days_from_ce() as u32;\n    (days - 1) / 7\n",
);

async function reply(question, write) {
  const said = lastSaid(question);
  const done = answered(question);
  const calls = async (...all) => {
    for (const [at, [name, args]] of all.entries()) await write.call(name, args, at);
    return "tool_calls";
  };
  if (question.model === "bob") return void (await write.text(REVIEWED));
  if (question.model === "nia")
    return void (await write.text("All four machines are up. The oldest kernel is 41 days old."));
  const asked = question.messages.findLast((message) => message.role === "user")?.content ?? said;
  const wants = (words) => JSON.stringify(asked).includes(words);
  if (wants("every Monday")) {
    if (done === 0) return calls(["search_files", { pattern: "week_of|same_week" }]);
    if (done === 1) return calls(["read_file", { path: "src/week.rs" }]);
    return void (await write.text(FOUND));
  }
  if (wants("looked through the callers"))
    return void (await write.text(
      "@human Both of Bob's wishes are good. Shall I mend it, with a test for that night?",
    ));
  if (wants("mend it")) {
    if (done === 0)
      return calls(
        ["write_file", { path: "src/week.rs", content: NEW }],
        ["shell_cmd", { command: "cargo", parameters: ["test", "--locked", "checkout"] }],
      );
    return void (await write.text("Done; the tests pass."));
  }
  if (wants("release notes")) {
    if (done === 0)
      return calls(
        ["shell_cmd", { command: "ls", parameters: ["-l", "src"] }],
        ["shell_cmd", { command: "git", parameters: ["push", "--force"] }],
      );
    return void (await write.text(
      "The notes for **1.4** are ready. I did not push: that was denied, and the reason is a good one.",
    ));
  }
  await write.text("Nothing to do here.");
}

export const vendor = () => new Vendor(reply);

async function idle(program, world, chat) {
  for (;;) {
    const { activity } = await program.api(`/api/worlds/${world}/chats/${chat}`);
    const isAtWork = activity?.state === "busy" && activity.agents.some((agent) => !agent.doing.startsWith("awaiting"));
    if (!isAtWork) return;
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function say(program, world, chat, content) {
  await program.api(`/api/worlds/${world}/chats/${chat}/messages`, { content });
  await idle(program, world, chat);
}

async function titled(program, world, title) {
  const { data } = await program.api(`/api/worlds/${world}/chats`);
  // The chat that a world begins with is taken first.
  const chat = data.find((one) => one.title === "New Chat") ?? (await program.api(`/api/worlds/${world}/chats`, {}));
  await program.api(`/api/worlds/${world}/chats/${chat.id}`, { title }, "PATCH");
  return chat;
}

/** Makes the worlds. Two requests are left waiting. */
export async function setUp(program) {
  const place = join(program.data, "workspace", "orders");
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(join(place, name, ".."), { recursive: true });
    await writeFile(join(place, name), text);
  }
  const prose = (id, name, instructions) => ({ id, name, model: `groq/${id}`, instructions });
  await program.api("/api/worlds", {
    name: "Home lab",
    description: "Four machines in a cupboard.",
    title_model: "demo/demo",
    agents: [prose("nia", "Nia", "You look after four machines. Be brief.")],
  });
  await program.api("/api/worlds", {
    name: "Orders",
    description: "The shop's order service, and who works on it.",
    title_model: "demo/demo",
    main_agent: "ada",
    agents: [
      prose(
        "ada",
        "Ada",
        "You are the engineer of the order service.\n\n- Read before you write.\n- Ask @bob to review what you change.",
      ),
      prose("bob", "Bob", "You review. Say what is wrong and what to do about it, in a few lines."),
    ],
    policy: {
      rules: [
        { id: "look-around", ruling: "allow", tool: "shell_cmd", command: { program: "ls" } },
        { id: "no-force", ruling: "ask", tool: "shell_cmd", command: { program: "git", parameters: ["push"] } },
      ],
    },
  });
  const lab = await titled(program, "home-lab", "Kernels and uptimes");
  await say(program, "home-lab", lab.id, "How are the machines?");
  await titled(program, "orders", "Slow query in the export");
  const notes = await titled(program, "orders", "Release notes for 1.4");
  await say(program, "orders", notes.id, "Please write the release notes for 1.4 and publish them");
  for (const { id } of await program.waiting())
    await program.api(`/api/approvals/${id}`, { decision: "deny", reason: "Never force; open a pull request." });
  await idle(program, "orders", notes.id);
  const bug = await titled(program, "orders", "Checkout test fails on Mondays");
  await say(program, "orders", bug.id, "The checkout test fails every Monday. Can you find out why?");
  await idle(program, "orders", bug.id);
  await say(program, "orders", bug.id, "@ada Yes. Please mend it, and run the tests.");
  return { bug: bug.id, notes: notes.id, lab: lab.id };
}
