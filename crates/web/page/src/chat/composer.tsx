// Where a message is written: several lines, mentions completed, images pasted or dropped, a draft kept for each chat.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Agent } from "../api/types";
import { begunMention, completions, type Begun } from "../mentions";
import { connection } from "../state/news";
import { mayPost } from "../state/session";
import { tellProblem } from "../state/toasts";
import { Icon } from "../ui/icons";
import { Avatar } from "../ui/parts";
import { useDraft } from "./draft";
import { grow } from "./grow";
import { Outbox } from "./outbox";
import { readImages } from "./pictures";

interface Props {
  world: string;
  chat: string;
  agents: readonly Agent[];
  main: string | null;
}

export function Composer({ world, chat, agents, main }: Props) {
  const draft = useDraft(chat);
  const { text, pictures, write } = draft;
  const [begun, setBegun] = useState<Begun | null>(null);
  const [marked, setMarked] = useState(0);
  const [isDropping, setDropping] = useState(false);
  const place = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const found = begun ? completions(begun.typed, agents) : [];

  useLayoutEffect(() => {
    if (place.current) grow(place.current);
  }, [text]);
  useEffect(() => {
    // On a screen without a keyboard this would open one.
    if (matchMedia("(hover: hover)").matches && document.activeElement === document.body)
      place.current?.focus({ preventScroll: true });
  }, []);

  if (!mayPost.value) return <p class="soft composer-note">Your role lets you read, not write.</p>;

  const look = () => {
    const at = place.current;
    setBegun(at && at.selectionStart === at.selectionEnd ? begunMention(at.value, at.selectionStart) : null);
    setMarked(0);
  };
  const complete = (agent: Agent) => {
    const at = place.current;
    if (!at || !begun) return;
    const after = text.slice(begun.from + begun.typed.length + 1);
    const head = `${text.slice(0, begun.from)}@${agent.id} `;
    write(head + after.replace(/^ /, ""));
    setBegun(null);
    requestAnimationFrame(() => {
      at.focus();
      at.setSelectionRange(head.length, head.length);
      grow(at);
    });
  };
  const add = async (given: Iterable<File>) => {
    try {
      const read = await readImages(given, pictures);
      draft.change((known) => [...known, ...read]);
    } catch (error) {
      tellProblem(error);
    }
  };
  const canSend = text.trim() !== "" || pictures.length > 0;
  const send = () => {
    if (draft.send(world)) place.current?.focus();
  };
  const key = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (found.length > 0) {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      const chosen = found[marked];
      if (step) setMarked((marked + step + found.length) % found.length);
      else if ((event.key === "Enter" || event.key === "Tab") && chosen) complete(chosen);
      else if (event.key === "Escape") setBegun(null);
      else return;
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") {
      // From here on letters are keys again.
      place.current?.blur();
    }
  };
  const hint = agents.length > 1 ? `Message ${main ? `@${main}` : "everyone"}, or @ somebody` : "Write a message";
  return (
    <>
      <Outbox chat={chat} takeBack={draft.putBack} />
      <form
        class={`composer ${isDropping ? "dropping" : ""}`}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
        onDragOver={(event) => {
          event.preventDefault();
          setDropping(true);
        }}
        onDragLeave={() => setDropping(false)}
        onDrop={(event) => {
          event.preventDefault();
          setDropping(false);
          void add(event.dataTransfer?.files ?? []);
        }}
      >
        {found.length > 0 && (
          <ul class="mentions" role="listbox" id="mentions" aria-label="Agents">
            {found.map((agent, at) => (
              <li
                key={agent.id}
                id={`mention-${at}`}
                role="option"
                aria-selected={at === marked}
                onMouseMove={() => setMarked(at)}
                onMouseDown={(event) => {
                  event.preventDefault();
                  complete(agent);
                }}
              >
                <Avatar name={agent.id} size="small" /> <strong>{agent.name}</strong>{" "}
                <span class="soft">@{agent.id}</span>
              </li>
            ))}
          </ul>
        )}
        {pictures.length > 0 && (
          <ul class="pictures">
            {pictures.map((picture) => (
              <li key={picture.id}>
                <img src={picture.url} alt={picture.name} />
                <button
                  type="button"
                  class="icon-button"
                  aria-label={`Remove ${picture.name}`}
                  onClick={() => draft.change((known) => known.filter((one) => one.id !== picture.id))}
                >
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ul>
        )}
        <div class="composer-row">
          <input
            ref={files}
            type="file"
            accept="image/png,image/jpeg,image/gif,image/webp"
            multiple
            class="off-screen"
            tabIndex={-1}
            aria-hidden="true"
            onChange={(event) => {
              void add(event.currentTarget.files ?? []);
              event.currentTarget.value = "";
            }}
          />
          <button
            type="button"
            class="icon-button"
            aria-label="Add images"
            title="Add images"
            onClick={() => files.current?.click()}
          >
            <Icon name="image" />
          </button>
          <textarea
            ref={place}
            rows={1}
            value={text}
            placeholder={hint}
            aria-label="Message"
            aria-controls={found.length > 0 ? "mentions" : undefined}
            aria-autocomplete="list"
            aria-activedescendant={found.length > 0 ? `mention-${marked}` : undefined}
            onInput={(event) => {
              write(event.currentTarget.value);
              look();
            }}
            onKeyDown={key}
            onClick={look}
            onBlur={() => setBegun(null)}
            onKeyUp={(event) => (event.key === "ArrowLeft" || event.key === "ArrowRight") && look()}
            onPaste={(event) => {
              const pasted = [...(event.clipboardData?.files ?? [])].filter((file) => file.type.startsWith("image/"));
              if (pasted.length === 0) return;
              event.preventDefault();
              void add(pasted);
            }}
          />
          <button
            type="submit"
            class="send"
            aria-label="Send"
            title={connection.value === "open" ? "Send (Enter)" : "Send: the server cannot be reached right now"}
            disabled={!canSend}
          >
            <Icon name="up" />
          </button>
        </div>
      </form>
    </>
  );
}
