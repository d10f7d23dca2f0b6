// Changes a message that a person sent. What came after it goes, which is said before.

import { useEffect, useRef, useState } from "preact/hooks";
import { messages as calls } from "../api/calls";
import { newKey } from "../api/http";
import type { Said } from "../state/conversation";
import { edited } from "../state/kept";
import type { OpenChat } from "../state/open";
import { myName } from "../state/session";
import { attempt } from "../state/toasts";
import { grow } from "./grow";
import { Images } from "./images";

export function Edit({ said, chat, done }: { said: Said; chat: OpenChat; done: () => void }) {
  const [text, setText] = useState(() => edited.read(myName(), said.id) ?? said.text);
  const [isBusy, setBusy] = useState(false);
  /** By what the server knows this text again, should its answer be lost. */
  const attempted = useRef({ text: "", key: "" });
  const place = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    place.current?.focus();
    place.current?.setSelectionRange(text.length, text.length);
    if (place.current) grow(place.current);
  }, []);
  const hasImages = said.parts.length > 0;
  const canSend = !isBusy && (text.trim() !== "" || hasImages);
  const send = async () => {
    if (!canSend) return;
    setBusy(true);
    if (attempted.current.text !== text || !attempted.current.key) attempted.current = { text, key: newKey() };
    const { key } = attempted.current;
    const worked = await attempt(() => calls.edit(chat.world, chat.chat, said.id, text, key));
    setBusy(false);
    if (worked) leave();
  };
  const leave = () => {
    edited.write(myName(), said.id, null);
    done();
  };
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={place}
        value={text}
        aria-label="Message"
        rows={1}
        readOnly={isBusy}
        onInput={(event) => {
          setText(event.currentTarget.value);
          edited.write(myName(), said.id, event.currentTarget.value);
          grow(event.currentTarget);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") leave();
          else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            void send();
          }
        }}
      />
      <Images parts={said.parts} />
      <div class="row end">
        <span class="soft small-text grow">
          What was said after it will be removed.{hasImages && " Its images are sent again."}
        </span>
        <button type="button" class="button small" onClick={leave}>
          Cancel
        </button>
        <button type="submit" class="button primary small" disabled={!canSend}>
          Send
        </button>
      </div>
    </form>
  );
}
