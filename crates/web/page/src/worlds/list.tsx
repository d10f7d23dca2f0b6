// All worlds: what they are for, who lives there; making one, and bringing one in.

import { useRef, useState } from "preact/hooks";
import { worlds as calls } from "../api/calls";
import { problemText } from "../api/http";
import { href, go } from "../router";
import { mayManage } from "../state/session";
import { tell } from "../state/toasts";
import { chats, loadWorlds, nameOfWorld, wantChats, worlds } from "../state/worlds";
import { TopBar } from "../shell/top-bar";
import { Icon } from "../ui/icons";
import { Avatar, Empty, Loading } from "../ui/parts";
import { plural } from "../words";
import { CreateWorld } from "./create";
import { useEffect } from "preact/hooks";

export function WorldsPage() {
  const [isCreating, setCreating] = useState(false);
  const all = worlds.value;
  useEffect(() => all?.forEach((world) => wantChats(world.id)), [all]);
  return (
    <>
      <TopBar title="Worlds" />
      <div class="view-scroll">
        <div class="column">
          {mayManage.value && (
            <div class="row page-actions">
              <button type="button" class="button primary" onClick={() => setCreating(true)}>
                <Icon name="plus" /> New world
              </button>
              <Import />
            </div>
          )}
          {all === null && <Loading />}
          {all?.length === 0 && <Empty icon="globe" title="There is no world yet" />}
          <ul class="world-cards">
            {all?.map((world) => (
              <li key={world.id} class="box">
                <h2>
                  <a href={href({ view: "world", world: world.id })}>{nameOfWorld(world.id)}</a>
                </h2>
                {world.description && <p class="soft">{world.description}</p>}
                <ul class="chips left">
                  {world.agents.map((agent) => (
                    <li key={agent.id} class="chip">
                      <Avatar name={agent.id} size="small" /> {agent.name}
                    </li>
                  ))}
                </ul>
                <p class="row small-text">
                  <span class="soft grow">
                    {chats.value[world.id] ? plural(chats.value[world.id]?.length ?? 0, "chat") : ""}
                  </span>
                  <a href={href({ view: "settings", world: world.id })}>Settings</a>
                  <a href={href({ view: "history", world: world.id })}>History</a>
                </p>
              </li>
            ))}
          </ul>
        </div>
      </div>
      {isCreating && <CreateWorld close={() => setCreating(false)} />}
    </>
  );
}

function Import() {
  const place = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const read = async (file: File | undefined) => {
    if (!file) return;
    setBusy(true);
    try {
      const made = await calls.import(file);
      await loadWorlds();
      tell(
        `Imported with ${plural(made.chats, "chat")}.${made.missing_secrets.length ? " Some secrets are missing: see its MCP servers." : ""}`,
        "good",
      );
      go({ view: "world", world: made.id });
    } catch (error) {
      tell(`${file.name} was not imported: ${problemText(error)}`, "bad");
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <input
        ref={place}
        type="file"
        accept="application/json,.json"
        class="off-screen"
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          void read(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="button" disabled={isBusy} onClick={() => place.current?.click()}>
        <Icon name="upload" /> {isBusy ? "Importing…" : "Import"}
      </button>
    </>
  );
}
