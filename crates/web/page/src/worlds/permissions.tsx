// Permissions that last: what people granted always, and for single chats. Each can be taken back.

import { useEffect, useRef, useState } from "preact/hooks";
import { policy } from "../api/calls";
import { problemText } from "../api/http";
import type { Fields, Rule, World } from "../api/types";
import { href } from "../router";
import { mayDecide } from "../state/session";
import { attempt, tell } from "../state/toasts";
import { chats, putWorld, wantChats } from "../state/worlds";
import { worlds } from "../api/calls";
import { ago } from "../words";
import { now } from "../ui/now";
import { Failure, Loading } from "../ui/parts";
import { loadGrants, revoke, type Grant } from "./grants";
import { matchWords } from "./rules";

export function Permissions({ world }: { world: World }) {
  const [grants, setGrants] = useState<Grant[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const round = useRef(0);
  useEffect(() => wantChats(world.id), [world.id]);
  const known = chats.value[world.id];
  const load = async () => {
    const now = (round.current += 1);
    const isLast = () => round.current === now;
    setProblem(null);
    try {
      const found = await loadGrants(world.id);
      if (isLast()) setGrants(found);
    } catch (error) {
      if (isLast()) setProblem(problemText(error));
    }
  };
  useEffect(() => void load(), [world.id, known?.length]);
  const revokeRule = (rule: Rule) =>
    attempt(async () => {
      await policy.revoke(world.id, rule.id);
      putWorld(await worlds.read(world.id));
      tell("Taken back", "good");
    });
  const revokeGrant = (grant: Grant) =>
    attempt(async () => {
      await revoke(world.id, grant);
      setGrants((now) => now?.filter((one) => one.id !== grant.id) ?? null);
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
        {problem && <Failure text={`They could not be loaded. ${problem}`} again={() => void load()} />}
        {!problem && !grants && <Loading />}
        {!problem && grants?.length === 0 && <p class="soft">None.</p>}
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
