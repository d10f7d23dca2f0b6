// The settings of a world, by part. Each part saves for itself.

import { useEffect, useState } from "preact/hooks";
import { href, mayGo } from "../router";
import { mayManage } from "../state/session";
import { worldById, worlds } from "../state/worlds";
import { NoWorld } from "../shell/no-world";
import { TopBar } from "../shell/top-bar";
import { Icon } from "../ui/icons";
import { Loading } from "../ui/parts";
import { Tabs } from "../ui/tabs";
import { Agents } from "./agents";
import { General } from "./general";
import { Permissions } from "./permissions";
import { PolicyEditor } from "./policy";
import { Servers } from "./servers";
import { Transfer } from "./transfer";

const TABS = ["Agents", "World", "Policy", "Permissions", "MCP servers", "Export"] as const;
type Tab = (typeof TABS)[number];
const anchor = (tab: Tab) => `#${tab.toLowerCase().replaceAll(" ", "-")}`;

export function SettingsPage({ world: id }: { world: string }) {
  const [tab, setTab] = useState<Tab>(() => TABS.find((one) => anchor(one) === location.hash) ?? "Agents");
  useEffect(() => {
    const follow = () => choose(TABS.find((one) => anchor(one) === location.hash) ?? tab);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  });
  const choose = (next: Tab) => {
    const goes = next !== tab && mayGo();
    if (goes) setTab(next);
    // A reload, or somebody who is given the address, comes to the same part.
    history.replaceState(history.state, "", anchor(goes ? next : tab));
  };
  const world = worldById.value.get(id);
  if (worlds.value === null) return <Loading />;
  if (!world) return <NoWorld title="Settings" />;
  return (
    <>
      <TopBar title={`Settings of ${world.name}`} sub={<span class="cut">{world.description}</span>}>
        <a
          class="icon-button"
          href={href({ view: "history", world: id })}
          aria-label="History of this world"
          title="History of this world"
        >
          <Icon name="clock" />
        </a>
      </TopBar>
      <div class="view-scroll">
        <div class="column">
          {!mayManage.value && <p class="notice-line">Only admins change settings. You can read them.</p>}
          <Tabs label="Parts of the settings" all={TABS} chosen={tab} choose={choose}>
            {tab === "Agents" && <Agents world={world} />}
            {tab === "World" && <General key={id} world={world} />}
            {tab === "Policy" && <PolicyEditor key={id} world={world} />}
            {tab === "Permissions" && <Permissions world={world} />}
            {tab === "MCP servers" && <Servers world={world} />}
            {tab === "Export" && <Transfer world={world} />}
          </Tabs>
        </div>
      </div>
    </>
  );
}
