// Permissions that last: what people granted always, and for single chats. Each can be taken back.

import { useEffect, useState } from "preact/hooks";
import { policy } from "../api/calls";
import { all, ask, path } from "../api/http";
import type { Fields, Rule, World } from "../api/types";
import { href } from "../router";
import { mayDecide } from "../state/session";
import { attempt, tell } from "../state/toasts";
import { chats, putWorld, wantChats } from "../state/worlds";
import { worlds } from "../api/calls";
import { ago } from "../words";
import { now } from "../ui/now";
import { matchWords } from "./rules";

interface Grant {
  id: string;
  chat_id: string;
  agent_id: string;
  tool: string;
  matches: Fields[];
  granted_by: string;
  created_at: string;
}

export function Permissions({ world }: { world: World }) {
  const [grants, setGrants] = useState<Grant[] | null>(null);
  useEffect(() => wantChats(world.id), [world.id]);
  const known = chats.value[world.id];
  const load = async () => {
    const lists = await Promise.all(
      (known ?? [])
        .slice(0, 200)
        .map((chat) => all<Grant>(path("worlds", world.id, "chats", chat.id, "grants")).catch(() => [])),
    );
    setGrants(lists.flat());
  };
  useEffect(() => {
    if (known) void load();
  }, [known?.length]);
  const revokeRule = (rule: Rule) =>
    attempt(async () => {
      await policy.revoke(world.id, rule.id);
      putWorld(await worlds.read(world.id));
      tell("Taken back", "good");
    });
  const revokeGrant = (grant: Grant) =>
    attempt(async () => {
      await ask(path("worlds", world.id, "chats", grant.chat_id, "grants", grant.id), { method: "DELETE" });
      await load();
      tell("Taken back", "good");
    });
  const rules = world.policy.granted ?? [];
  return (
    <div class="stack">
      <section>
        <h2 class="section-title">Always, in this world</h2>
        {rules.length === 0 && <p class="soft">Nobody approved anything for ever.</p>}
        <ul class="boxes">
          {rules.map((rule) => (
            <li key={rule.id} class="box row">
              <div class="grow">
                <p>
                  <strong>{rule.agent ?? "every agent"}</strong> may use <code>{rule.tool}</code>{" "}
                  {narrowed(rule.matches)}
                </p>
                <p class="soft small-text">
                  by {rule.origin?.by ?? "somebody"}
                  {rule.origin?.at ? `, ${ago(rule.origin.at, now.value)}` : ""}
                </p>
              </div>
              {mayDecide.value && (
                <button type="button" class="button small" onClick={() => revokeRule(rule)}>
                  Take back
                </button>
              )}
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2 class="section-title">For single chats</h2>
        {grants?.length === 0 && <p class="soft">None.</p>}
        <ul class="boxes">
          {grants?.map((grant) => (
            <li key={grant.id} class="box row">
              <div class="grow">
                <p>
                  <strong>{grant.agent_id}</strong> may use <code>{grant.tool}</code> {narrowed(grant.matches)}
                </p>
                <p class="soft small-text">
                  in{" "}
                  <a href={href({ view: "chat", world: world.id, chat: grant.chat_id })}>
                    {known?.find((chat) => chat.id === grant.chat_id)?.title ?? "a chat"}
                  </a>
                  , by {grant.granted_by}, {ago(grant.created_at, now.value)}
                </p>
              </div>
              {mayDecide.value && (
                <button type="button" class="button small" onClick={() => revokeGrant(grant)}>
                  Take back
                </button>
              )}
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

function narrowed(matches: Fields[] | undefined) {
  if (!matches || matches.length === 0) return <strong class="warn-text">for every call</strong>;
  return matches.map((one, at) => {
    const { before, code } = matchWords(one);
    return (
      <span key={at}>
        {at > 0 && " and "}
        {before} <code>{code}</code>
      </span>
    );
  });
}
