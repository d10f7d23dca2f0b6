// The agents of a world.

import { useState } from "preact/hooks";
import { agents as calls } from "../api/calls";
import type { Agent, World } from "../api/types";
import { mayManage } from "../state/session";
import { attempt } from "../state/toasts";
import { confirm } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { Menu } from "../ui/menu";
import { Avatar } from "../ui/parts";
import { AgentForm } from "./agent-form";

export function Agents({ world }: { world: World }) {
  const [edited, setEdited] = useState<Agent | "new" | null>(null);
  const remove = async (agent: Agent) => {
    const text = `${agent.name} stops working and leaves ${world.name}. What was said stays.`;
    if (await confirm(`Delete ${agent.name}?`, text, "Delete")) await attempt(() => calls.remove(world.id, agent.id));
  };
  return (
    <div class="stack">
      <ul class="boxes">
        {world.agents.map((agent) => (
          <li key={agent.id} class="box agent-box">
            <Avatar name={agent.id} />
            <div class="grow">
              <h2>
                {agent.name} <span class="soft">@{agent.id}</span>
                {world.main_agent === agent.id && <span class="tag">main agent</span>}
              </h2>
              <p class="small-text soft">
                <code>{agent.model ?? world.default_model ?? "no model"}</code> · {tools(agent)}
              </p>
              {agent.instructions && <p class="clamp">{agent.instructions}</p>}
            </div>
            {mayManage.value && (
              <>
                <button type="button" class="button small" onClick={() => setEdited(agent)}>
                  Edit
                </button>
                <Menu
                  label={`Menu of ${agent.name}`}
                  items={[{ label: "Delete", icon: "trash", isDangerous: true, act: () => void remove(agent) }]}
                />
              </>
            )}
          </li>
        ))}
      </ul>
      {world.agents.length === 0 && <p class="soft">Nobody lives here yet.</p>}
      {mayManage.value && (
        <div>
          <button type="button" class="button" onClick={() => setEdited("new")}>
            <Icon name="plus" /> Add an agent
          </button>
        </div>
      )}
      {edited && <AgentForm world={world} agent={edited === "new" ? null : edited} close={() => setEdited(null)} />}
    </div>
  );
}

function tools(agent: Agent): string {
  if (agent.tools.includes("*")) return "all tools";
  return agent.tools.length === 0 ? "no tools" : agent.tools.join(", ");
}
