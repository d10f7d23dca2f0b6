// A call of a tool: what is done, how it stands, what it writes while it runs, and what came of it.

import { useEffect, useState } from "preact/hooks";
import { chats as calls } from "../api/calls";
import { print } from "../api/json";
import type { Json } from "../api/types";
import { showInbox } from "../inbox/panel";
import { isOver, type Called } from "../state/conversation";
import type { OpenChat } from "../state/open";
import { mayDecide } from "../state/session";
import { tellProblem } from "../state/toasts";
import { CopyButton } from "../ui/copy";
import { Icon, type IconName } from "../ui/icons";
import { second } from "../ui/now";
import { callLine, callState, duration, plural, reveal } from "../words";

const ICONS: Record<string, IconName> = {
  shell_cmd: "terminal",
  read_file: "file",
  write_file: "file",
  edit_file: "edit",
  list_files: "list",
  search_files: "search",
  fetch_url: "globe",
};

export function CallCard({ call, chat }: { call: Called; chat: OpenChat }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (call.isSketch) chat.want(call.id);
  }, [call.isSketch]);
  const about = callLine(call.arguments);
  const isRunning = call.state === "executing";
  const waits = call.state === "awaiting_approval";
  return (
    <div class={`entry call call-${call.state}`} id={call.id} tabIndex={-1}>
      <div class="call-row">
        <button type="button" class="call-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={ICONS[call.name] ?? "tool"} />
          <span class="call-name">{call.name}</span>
          <code class="call-about cut">{about}</code>
          <State call={call} />
          <Icon name="chevron" class={`icon turn ${isOpen ? "turned" : ""}`} />
        </button>
        {waits && (
          <button type="button" class="button small primary" onClick={() => showInbox(call.approval ?? undefined)}>
            {mayDecide.value ? "Review" : "Look"}
          </button>
        )}
      </div>
      {isRunning && call.output && !isOpen && <pre class="output tail">{reveal(lastLines(call.output, 6))}</pre>}
      {isOpen && <Details call={call} chat={chat} />}
    </div>
  );
}

function lastLines(text: string, count: number): string {
  return text.replace(/\n$/, "").split("\n").slice(-count).join("\n");
}

function State({ call }: { call: Called }) {
  const isRunning = call.state === "executing";
  const since = isRunning && call.startedAt ? Math.max(0, second.value - Date.parse(call.startedAt)) : null;
  const time =
    call.duration !== null
      ? duration(call.duration)
      : since !== null && since > 1_000
        ? duration(Math.floor(since / 1_000) * 1_000)
        : "";
  const tone =
    call.state === "completed"
      ? call.isError
        ? "bad"
        : "good"
      : isRunning
        ? "busy"
        : isOver(call.state)
          ? "bad"
          : call.state === "awaiting_approval"
            ? "warn"
            : "quiet";
  return (
    <span class={`call-state tone-${tone}`}>
      {isRunning && <span class="spinner small" aria-hidden="true" />}
      {call.state === "completed" && !call.isError && <Icon name="check" />}
      <span>{call.state === "completed" && call.isError ? "Failed" : callState(call.state)}</span>
      {time && <span class="soft">{time}</span>}
    </span>
  );
}

function Details({ call, chat }: { call: Called; chat: OpenChat }) {
  const [whole, setWhole] = useState<string | null>(null);
  const text = whole ?? call.result;
  const loadWhole = async () => {
    try {
      let all = "";
      let offset: number | null | undefined = 0;
      while (typeof offset === "number") {
        const piece: { text: string; next?: number | null } = await calls.result(
          chat.world,
          chat.chat,
          call.id,
          offset,
        );
        all += piece.text;
        offset = piece.next;
      }
      setWhole(all);
    } catch (error) {
      tellProblem(error);
    }
  };
  const code = call.details?.["exit_code"];
  return (
    <div class="call-details">
      <Section title="Arguments" text={pretty(call.arguments)} />
      {call.output && <Section title="Output so far" text={call.output} />}
      {text !== null && <Section title={call.isError ? "Error" : "Result"} text={text || "(no output)"} />}
      {call.whole !== null && whole === null && (
        <button type="button" class="text-button" onClick={loadWhole}>
          Only a part is shown. Load all {plural(call.whole, "character")}
        </button>
      )}
      {typeof code === "number" && <p class="soft small-text">Exit code {code}</p>}
      {call.state === "interrupted" && <p class="soft small-text">It may or may not have taken effect.</p>}
    </div>
  );
}

function Section({ title, text }: { title: string; text: string }) {
  return (
    <section class="call-section">
      <h2>{title}</h2>
      <div class="output-frame">
        <pre class="output" tabIndex={0}>
          {reveal(text)}
        </pre>
        <CopyButton label={`Copy ${title.toLowerCase()}`} text={() => text} />
      </div>
    </section>
  );
}

function pretty(value: Json): string {
  return typeof value === "string" ? value : print(value, 2);
}
