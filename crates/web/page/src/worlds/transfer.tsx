// Takes a world out as a file, or deletes it.

import { useState } from "preact/hooks";
import { worlds as calls } from "../api/calls";
import type { World } from "../api/types";
import { go } from "../router";
import { mayManage } from "../state/session";
import { attempt, tell } from "../state/toasts";
import { dropWorld } from "../state/worlds";
import { confirmBy } from "../ui/dialog";
import { Icon } from "../ui/icons";

export function Transfer({ world }: { world: World }) {
  const [isBusy, setBusy] = useState(false);
  const take = async () => {
    setBusy(true);
    await attempt(async () => {
      const whole = await calls.export(world.id);
      const url = URL.createObjectURL(whole);
      const link = document.createElement("a");
      link.href = url;
      link.download = `${world.id}.json`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
    setBusy(false);
  };
  const remove = async () => {
    const typed = await confirmBy(
      `Delete ${world.name}?`,
      `All chats go, for ever. Write ${world.id} to confirm.`,
      "Delete",
    );
    if (typed === null) return;
    if (typed !== world.id) return tell("That is not its name. Nothing was deleted.");
    if (await attempt(() => calls.remove(world.id))) {
      dropWorld(world.id);
      go({ view: "worlds" });
    }
  };
  if (!mayManage.value) return <p class="soft">Only admins export and delete worlds.</p>;
  return (
    <div class="stack">
      <section class="box row">
        <div class="grow">
          <h2 class="section-title">Export</h2>
          <p class="soft">
            The whole world as one file: settings, chats, everything that happened. Secrets are left out.
          </p>
        </div>
        <button type="button" class="button" disabled={isBusy} onClick={take}>
          <Icon name="download" /> {isBusy ? "Exporting…" : "Export"}
        </button>
      </section>
      <section class="box row">
        <div class="grow">
          <h2 class="section-title">Delete</h2>
          <p class="soft">Agents stop, chats go. What the audit says of it stays.</p>
        </div>
        <button type="button" class="button danger" onClick={remove}>
          Delete this world
        </button>
      </section>
    </div>
  );
}
