// What must be seen before deciding: who, what exactly, where, under which rules. Leaves nothing out and cuts nothing.

import { useEffect, useState } from "preact/hooks";
import { approvals, policy, type Trial } from "../api/calls";
import { problemText } from "../api/http";
import { print } from "../api/json";
import type { Approval, Fields, Message } from "../api/types";
import { href } from "../router";
import { findChat, nameOfWorld, wantChats, worldById } from "../state/worlds";
import { Icon } from "../ui/icons";
import { now, second } from "../ui/now";
import { Avatar, Time } from "../ui/parts";
import { age, duration, reveal, revealLine } from "../words";
import { diffLines } from "./diff";
import { Long } from "./long";
import { hasDigest, isWhole, readCommand, risky, sandboxRisk } from "./rules";

export function CardBody({ approval }: { approval: Approval }) {
  useEffect(() => wantChats(approval.world_id), [approval.world_id]);
  const world = worldById.value.get(approval.world_id);
  const agent = world?.agents.find((one) => one.id === approval.agent_id);
  const who = revealLine(agent?.name ?? approval.agent_id);
  const chat = findChat(approval.world_id, approval.chat_id);
  const command = approval.form ? null : readCommand(approval);
  const all = Object.entries(approval.binding?.facts ?? {}).filter(
    ([name, value]) => !(name === "directory" && value === approval.working_directory),
  );
  const facts = all.filter(([, value]) => !hasDigest(value));
  const digests = all.filter(([, value]) => hasDigest(value));
  return (
    <>
      <header class="card-head">
        <Avatar name={approval.agent_id} />
        <div class="grow">
          <p class="card-who">
            {approval.form ? (
              <>
                <code>{revealLine(approval.tool)}</code>, called by <strong>{who}</strong>, asks you
              </>
            ) : (
              <>
                <strong>{who}</strong> wants to use <code>{revealLine(approval.tool)}</code>
              </>
            )}
          </p>
          <p class="soft cut small-text">
            <a href={href({ view: "chat", world: approval.world_id, chat: approval.chat_id })}>
              {nameOfWorld(approval.world_id)} · {chat?.title ?? "chat"}
            </a>
          </p>
        </div>
        <a
          class="card-when"
          href={href({ view: "inbox", approval: approval.id })}
          aria-label={`Link to this request, ${age(approval.created_at, now.value)}`}
        >
          <Time at={approval.created_at}>{age(approval.created_at, now.value)}</Time>
        </a>
      </header>
      {approval.voided && <Voided approval={approval} />}
      {approval.form ? (
        <Question approval={approval} />
      ) : command ? (
        <CommandView text={command.text} more={command.more} />
      ) : (
        <Raw approval={approval} />
      )}
      {command && approval.preview && <Diff text={approval.preview} />}
      {!approval.form && (
        <dl class="facts">
          {approval.working_directory && <Fact name="in" value={approval.working_directory} />}
          {facts.map(([name, value]) => (
            <Fact key={name} name={name} value={value} warning={name === "sandbox" ? sandboxRisk(value) : null} />
          ))}
          {approval.expires_at && (
            <Fact
              name="until"
              value={`${new Date(approval.expires_at).toLocaleString()} (${left(approval.expires_at)})`}
            />
          )}
        </dl>
      )}
      {!approval.form && digests.length > 0 && <Digests facts={digests} />}
      {!approval.form && <Rules approval={approval} />}
      <Context approval={approval} />
    </>
  );
}

function left(at: string): string {
  const rest = Date.parse(at) - second.value;
  return rest > 0 ? `${duration(Math.ceil(rest / 1_000) * 1_000)} left` : "over";
}

function CommandView({ text, more }: { text: string; more: [string, string][] }) {
  return (
    <>
      <Long kind="command" label="Command">
        <span class="prompt" aria-hidden="true">
          ${" "}
        </span>
        {text}
      </Long>
      {more.length > 0 && (
        <dl class="facts">
          {more.map(([name, value]) => (
            <Fact key={name} name={name} value={value} />
          ))}
        </dl>
      )}
    </>
  );
}

function Raw({ approval }: { approval: Approval }) {
  const raw = (
    <Long kind="command" label="Arguments">
      {reveal(approval.shown)}
    </Long>
  );
  return (
    <>
      <p class="asks">{reveal(approval.message)}</p>
      {approval.preview && <Diff text={approval.preview} />}
      {approval.preview && isWhole(approval) ? (
        // What changes is all there above; the same once more, as one line of JSON, is for who wants it.
        <details class="more">
          <summary>
            <Icon name="chevron" class="icon turn" /> The arguments as they are
          </summary>
          {raw}
        </details>
      ) : (
        raw
      )}
    </>
  );
}

function Question({ approval }: { approval: Approval }) {
  const url = approval.form?.["url"];
  return (
    <>
      <blockquote class="asks">{reveal(approval.message)}</blockquote>
      {typeof url === "string" && (
        <p class="small-text">
          Go to <code>{revealLine(url)}</code>
        </p>
      )}
    </>
  );
}

function Voided({ approval }: { approval: Approval }) {
  return (
    <div class="warning">
      <Icon name="warn" />
      <div>
        An earlier approval does not hold any more, since:
        <ul>
          {(approval.voided?.changes ?? []).map((change, at) => (
            <li key={at}>{revealLine(typeof change === "string" ? change : print(change))}</li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function Fact({ name, value, warning = null }: { name: string; value: string; warning?: string | null }) {
  return (
    <div class="fact">
      <dt>{revealLine(name)}</dt>
      <dd>
        {revealLine(value)}
        {warning && <span class="warn-text"> {warning}</span>}
      </dd>
    </div>
  );
}

/** By which contents the approval holds. Nobody reads them to decide; they are there to compare. */
function Digests({ facts }: { facts: [string, string][] }) {
  return (
    <details class="more">
      <summary>
        <Icon name="chevron" class="icon turn" /> Contents it is bound to
      </summary>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <Fact key={name} name={name} value={value} />
        ))}
      </dl>
    </details>
  );
}

function Diff({ text }: { text: string }) {
  return (
    <Long kind="diff" label="What it would change">
      {diffLines(reveal(text)).map((line, at) => (
        <span key={at} class={`diff-line ${line.kind}`}>
          {line.text || " "}
        </span>
      ))}
    </Long>
  );
}

/** What the rules say of it, and which programs in it can destroy something. */
function Rules({ approval }: { approval: Approval }) {
  const [trial, setTrial] = useState<Trial | null>(null);
  const [isRefused, setRefused] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const body: Fields = { agent: approval.agent_id, tool: approval.tool, arguments: approval.arguments };
    policy.test(approval.world_id, body, stop.signal).then(setTrial, () => setRefused(!stop.signal.aborted));
    return () => stop.abort();
  }, [approval.id]);
  const first = (approval.arguments as Fields | null)?.["command"];
  const programs =
    trial?.commands.map((part) => part.command?.command ?? "") ?? (typeof first === "string" ? [first] : []);
  const dangerous = approval.tool === "shell_cmd" ? risky(programs) : [];
  return (
    <>
      {dangerous.length > 0 && (
        <p class="warning">
          <Icon name="warn" />{" "}
          <span>
            <strong>{dangerous.join(", ")}</strong> can destroy what is there
          </span>
        </p>
      )}
      {!isRefused && (
        <details class="more">
          <summary>
            <Icon name="chevron" class="icon turn" /> What the rules say
            {trial ? `: ${revealLine(trial.explanation.split("\n")[0] ?? "")}` : ""}
          </summary>
          <pre class="explanation">{trial ? reveal(trial.explanation) : "…"}</pre>
          {trial && trial.not_certain.length > 0 && (
            <p class="warn-text small-text">Not certain: {trial.not_certain.map(revealLine).join("; ")}</p>
          )}
        </details>
      )}
    </>
  );
}

function Context({ approval }: { approval: Approval }) {
  const [found, setFound] = useState<Message[] | null>(approval.context ?? null);
  const [problem, setProblem] = useState<string | null>(null);
  const load = () => {
    if (!found)
      approvals.read(approval.id).then(
        (one) => setFound(one.context ?? []),
        (error: unknown) => setProblem(problemText(error)),
      );
  };
  const said = (found ?? []).filter((message) => message.content !== "" && message.role !== "tool").slice(-10);
  return (
    <details class="more" onToggle={(event) => event.currentTarget.open && load()}>
      <summary>
        <Icon name="chevron" class="icon turn" /> What was said before
      </summary>
      {problem && <p class="bad-text">{problem}</p>}
      {found && said.length === 0 && <p class="soft small-text">Nothing.</p>}
      <ol class="context" tabIndex={0} aria-label="What was said before">
        {said.map((message) => (
          <li key={message.id}>
            <strong>{message.sender}</strong> {reveal(message.content)}
          </li>
        ))}
      </ol>
    </details>
  );
}
