// What an empty chat shows: who is here, and things to try.

import type { Agent, World } from "../api/types";
import { post } from "../state/outbox";
import { mayManage, mayPost } from "../state/session";
import { Avatar } from "../ui/parts";
import { href } from "../router";

const TRICKS = ["help", "what time is it", "run ls -la", "count to 20"];

/** What the demo model can do here: it asks somebody else only where there is somebody else. */
export function tricks(agents: readonly Agent[], main: string | null | undefined): string[] {
  const first = main ?? agents[0]?.id;
  const other = agents.find((agent) => agent.id !== first);
  return other ? [...TRICKS, `ask @${other.id} what time is it`] : TRICKS;
}

export function Welcome({ world, chat }: { world: World | undefined; chat: string }) {
  const agents = world?.agents ?? [];
  const isDemo = agents.length > 0 && agents.every((agent) => (agent.model ?? world?.default_model) === "demo/demo");
  const main = world?.main_agent;
  return (
    <div class="welcome">
      <h2>Who is here</h2>
      <ul class="who">
        {agents.map((agent) => (
          <li key={agent.id}>
            <Avatar name={agent.id} />
            <div>
              <strong>{agent.name}</strong> <span class="soft">@{agent.id}</span>
              {agent.id === main && <span class="tag">answers unless somebody else is addressed</span>}
              <div class="soft small-text">{agent.model ?? world?.default_model ?? "no model yet"}</div>
            </div>
          </li>
        ))}
        {agents.length === 0 && world && (
          <li class="soft">
            Nobody yet.{" "}
            {mayManage.value && <a href={href({ view: "settings", world: world.id })}>Add an agent</a>}
          </li>
        )}
      </ul>
      {isDemo && world && mayPost.value && (
        <>
          <p class="soft">
            This world uses the built-in demo model: a few fixed rules, no key, no network. Try one of its tricks.
          </p>
          <div class="chips">
            {tricks(agents, main).map((trick) => (
              <button
                key={trick}
                type="button"
                class="chip"
                onClick={() => void post(world.id, chat, trick, [])}
              >
                {trick}
              </button>
            ))}
          </div>
        </>
      )}
    </div>
  );
}
