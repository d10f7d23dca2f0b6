// What happened in a world, the latest first, each on a line that can be opened.

import { useState } from "preact/hooks";
import { print } from "../api/json";
import type { Call, Message } from "../api/types";
import { href } from "../router";
import { Icon, type IconName } from "../ui/icons";
import { day, duration, fullTime, reveal } from "../words";
import type { Happened, Kind } from "./fold";

const STEP = 100;
const ICONS: Record<Kind, IconName> = {
  message: "people",
  call: "tool",
  reply: "chevron",
  notice: "warn",
  change: "edit",
};
const TONES: Record<string, string> = {
  completed: "good",
  failed: "bad",
  timeout: "bad",
  interrupted: "bad",
  denied: "bad",
  expired: "warn",
  awaiting_approval: "warn",
};

export function Timeline({ all, world }: { all: Happened[]; world: string }) {
  const [count, setCount] = useState(STEP);
  const latest = all.slice(-count).reverse();
  if (all.length === 0) return <p class="soft pad">Nothing of that kind happened.</p>;
  return (
    <>
      <ol class="timeline">
        {latest.map((one, at) => {
          const date = new Date(one.at).toDateString();
          const isNewDay = at === 0 || date !== new Date(latest[at - 1]?.at ?? "").toDateString();
          return (
            <li key={one.key}>
              {isNewDay && (
                <div class="day">
                  <span>{day(one.at)}</span>
                </div>
              )}
              <Line one={one} world={world} />
            </li>
          );
        })}
      </ol>
      {all.length > count && (
        <button type="button" class="button" onClick={() => setCount(count + STEP * 3)}>
          Show more of them
        </button>
      )}
    </>
  );
}

function Line({ one, world }: { one: Happened; world: string }) {
  const [isOpen, setOpen] = useState(false);
  const last = one.steps[one.steps.length - 1];
  const took = last ? Date.parse(last.at) - Date.parse(one.at) : 0;
  return (
    <details class={`event event-${one.kind}`} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <time class="soft" dateTime={one.at} title={fullTime(one.at)}>
          {precise(one.at)}
        </time>
        <Icon name={ICONS[one.kind]} />
        <span class="event-words">
          {one.who && <strong>{one.who}</strong>} {one.tool && <span class="event-tool">{one.tool}</span>}{" "}
          {one.kind === "call" ? <code>{one.what}</code> : one.what}
        </span>
        {one.end && <span class={`event-end tone-${TONES[one.state ?? ""] ?? "quiet"}`}>{one.end}</span>}
      </summary>
      {isOpen && (
        <div class="event-more">
          {one.steps.length > 0 && (
            <ol class="steps">
              <li>
                <span class="soft">{precise(one.at)}</span> {one.kind === "call" ? "called" : "began"}
              </li>
              {one.steps.map((step, at) => (
                <li key={at}>
                  <span class="soft">{precise(step.at)}</span> {step.words}
                </li>
              ))}
            </ol>
          )}
          <p class="small-text soft">
            {one.chat && (
              <a
                href={href({
                  view: "chat",
                  world,
                  chat: one.chat,
                  ...(one.message && one.kind === "message" ? { message: one.message } : {}),
                })}
              >
                Show in its chat
              </a>
            )}
            {one.approval && (
              <>
                {" · "}
                <a href={href({ view: "inbox", approval: one.approval })}>Its request</a>
              </>
            )}
            {one.steps.length > 0 && took > 0 && ` · took ${duration(took)} in all`}
          </p>
          <Told one={one} />
          <details>
            <summary class="soft small-text">Everything that is stored of it</summary>
            <pre class="output" tabIndex={0}>
              {reveal(print(one.data, 2))}
            </pre>
          </details>
        </div>
      )}
    </details>
  );
}

/** What a person wants to know of it first: what was given, and what came back. */
function Told({ one }: { one: Happened }) {
  const call = one.data["call"] as Call | undefined;
  const message = one.data["message"] as Message | undefined;
  const result = (one.data["result"] as string | undefined) ?? call?.result;
  const parts: [string, string | null | undefined][] = call
    ? [
        ["Arguments", print(call.arguments, 2)],
        [call.is_error ? "What went wrong" : "What came back", result],
      ]
    : [["Text", message?.content]];
  return parts.map(([title, text]) =>
    text ? (
      <div key={title}>
        <p class="soft small-text">{title}</p>
        <pre class="output" tabIndex={0}>
          {reveal(text)}
        </pre>
      </div>
    ) : null,
  );
}

function precise(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime())
    ? ""
    : date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}
