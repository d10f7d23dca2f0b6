// What an empty chat shows: who is here, and things to try.

import type { World } from "../api/types";
import { post } from "../state/outbox";
import { mayPost } from "../state/session";
import { Avatar } from "../ui/parts";
import { href } from "../router";

const TRICKS = ["help", "what time is it", "run ls -la", "count to 20", "ask @bob what time is it"];

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
            Nobody yet. <a href={href({ view: "settings", world: world.id })}>Add an agent</a>
          </li>
        )}
      </ul>
      {isDemo && world && mayPost.value && (
        <>
          <p class="soft">
            This world uses the built-in demo model: a few fixed rules, no key, no network. Try one of its tricks.
          </p>
          <div class="chips">
            {TRICKS.map((trick) => (
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
