// What the runtime has to say: why nobody answers, what failed, and how to go on.

import { chats as calls } from "../api/calls";
import type { OpenChat } from "../state/open";
import type { Said } from "../state/conversation";
import { mayPost } from "../state/session";
import { attempt } from "../state/toasts";
import { Icon } from "../ui/icons";
import { reveal } from "../words";

const FAILED = /could not answer|model_failed/;

export function NoticeView({ notice, chat }: { notice: Said; chat: OpenChat }) {
  const isFailure = notice.code === "model_failed" || (notice.code === null && FAILED.test(notice.text));
  return (
    <div class={`entry notice ${isFailure ? "notice-bad" : ""}`} id={notice.id} tabIndex={-1}>
      <Icon name={isFailure ? "warn" : "clock"} />
      <p>{reveal(notice.text)}</p>
      {isFailure && mayPost.value && (
        <button type="button" class="button small" onClick={() => attempt(() => calls.retry(chat.world, chat.chat))}>
          <Icon name="retry" /> Retry
        </button>
      )}
    </div>
  );
}
