// Events of a world, the latest first, each on a line that can be opened.

import { useState } from "preact/hooks";
import type { Approval, Call, Crud, Message, News, Notice, OutputNews, StreamNews } from "../api/types";
import { href } from "../router";
import { Icon, type IconName } from "../ui/icons";
import { callLine, callState, clock, day, outcome, reveal, revealLine } from "../words";

const STEP = 100;
const ICONS: Record<News["type"], IconName> = {
  message: "people",
  stream: "chevron",
  tool: "tool",
  approval: "shield",
  activity: "clock",
  system: "warn",
  crud: "edit",
};

export function Timeline({ events, world }: { events: News[]; world: string }) {
  const [count, setCount] = useState(STEP);
  const latest = events.slice(-count).reverse();
  if (events.length === 0) return <p class="soft pad">Nothing of that kind happened.</p>;
  return (
    <>
      <ol class="timeline">
        {latest.map((news, at) => {
          const isNewDay = at === 0 || news.at.slice(0, 10) !== latest[at - 1]?.at.slice(0, 10);
          return (
            <li key={news.seq}>
              {isNewDay && (
                <div class="day">
                  <span>{day(news.at)}</span>
                </div>
              )}
              <details class="event">
                <summary>
                  <time class="soft" dateTime={news.at}>
                    {clock(news.at)}
                  </time>
                  <Icon name={ICONS[news.type]} />
                  <span class="cut">{told(news)}</span>
                </summary>
                {news.chat_id && (
                  <a class="small-text" href={link(news, world)}>
                    Show in its chat
                  </a>
                )}
                <pre class="output">{reveal(JSON.stringify(news.data, null, 2))}</pre>
              </details>
            </li>
          );
        })}
      </ol>
      {events.length > count && (
        <button type="button" class="button" onClick={() => setCount(count + STEP * 3)}>
          Show older ones
        </button>
      )}
    </>
  );
}

function link(news: News, world: string): string {
  const chat = news.chat_id ?? "";
  return news.type === "message" && news.data.role !== "tool"
    ? href({ view: "chat", world, chat, message: news.data.id })
    : href({ view: "chat", world, chat });
}

function told(news: News): string {
  switch (news.type) {
    case "message": {
      const message = news.data as Message;
      if (message.role === "tool") return `result: ${revealLine(message.content.slice(0, 200))}`;
      const calls = message.tool_calls?.map((call) => call.function.name).join(", ");
      return `${message.user ?? message.sender}: ${message.content ? revealLine(message.content.slice(0, 200)) : calls ? `calls ${calls}` : "(nothing)"}`;
    }
    case "tool": {
      const call = news.data as Call | OutputNews;
      return "phase" in call
        ? "output"
        : `${call.agent_id} ${call.name} ${callLine(call.arguments).slice(0, 160)}: ${callState(call.state).toLowerCase()}`;
    }
    case "approval": {
      const approval = news.data as Approval;
      return `${approval.agent_id} ${approval.tool} ${callLine(approval.arguments).slice(0, 120)}: ${outcome(approval, null).toLowerCase()}`;
    }
    case "stream": {
      const stream = news.data as StreamNews;
      return `${stream.agent_id}: reply ${stream.phase}${stream.error ? `, ${revealLine(stream.error)}` : ""}`;
    }
    case "activity":
      return news.data.state;
    case "system":
      return revealLine((news.data as Notice).text);
    default: {
      const change = news.data as Crud;
      return `${change.entity} ${change.id} ${change.action}${change.by ? ` by ${change.by}` : ""}`;
    }
  }
}
