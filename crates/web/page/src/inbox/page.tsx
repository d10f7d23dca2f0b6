// The inbox as a view of its own: everything that waits, in all worlds.

import { useEffect, useState } from "preact/hooks";
import { approvals } from "../api/calls";
import { problemText } from "../api/http";
import type { Approval } from "../api/types";
import { inbox, inboxIsLoaded, inboxProblem, refreshInbox, waitingCount } from "../state/inbox";
import { areOn, toggleNotices } from "../state/notices";
import { mayDecide } from "../state/session";
import { TopBar } from "../shell/top-bar";
import { Icon } from "../ui/icons";
import { Empty, Failure, Loading } from "../ui/parts";
import { plural } from "../words";
import { Settled } from "./settled";
import { InboxList, NoDeciding } from "./list";
import { focusCard } from "./focus";
import { takesText } from "./watch";

export function InboxPage({ approval }: { approval: string | undefined }) {
  const count = waitingCount.value;
  const isThere = approval !== undefined && inbox.value.some((one) => one.approval.id === approval);
  useEffect(() => {
    // Whoever writes something already goes on with that.
    if (approval && isThere && !takesText(document.activeElement)) focusCard(approval);
  }, [approval, isThere]);
  const isLoaded = inboxIsLoaded.value;
  const problem = inboxProblem.value;
  const isAll = isLoaded && !problem;
  return (
    <>
      <TopBar title="Inbox" sub={count > 0 ? `${plural(count, "request")} in all worlds` : isAll && "Nothing waits"} />
      <div class="view-scroll">
        <div class="column">
          <NoDeciding />
          {!isLoaded && !problem && <Loading />}
          {problem && (
            <Failure text={`What waits for you could not be loaded. ${problem}`} again={() => void refreshInbox()} />
          )}
          {isLoaded && approval && !isThere && <Earlier id={approval} />}
          <InboxList />
          {isAll && inbox.value.length === 0 && !approval && (
            <Empty icon="check" title="Nothing waits for you">
              <p class="soft">
                When an agent wants to do something that needs your word, it appears here, from every world.
              </p>
              {mayDecide.value && !areOn() && (
                <button type="button" class="button" onClick={() => void toggleNotices()}>
                  <Icon name="bell" /> Notify me when something does
                </button>
              )}
            </Empty>
          )}
          {count > 0 && mayDecide.value && <Help />}
        </div>
      </div>
    </>
  );
}

/** One that was settled before the page was opened. */
function Earlier({ id }: { id: string }) {
  const [found, setFound] = useState<Approval | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    setFound(null);
    setProblem(null);
    approvals.read(id).then(setFound, (error: unknown) => setProblem(problemText(error)));
  }, [id]);
  if (problem)
    return (
      <Failure text={problem}>
        <a class="button" href="/inbox">
          All that waits
        </a>
      </Failure>
    );
  if (!found || found.state === "pending") return null;
  return (
    <ul class="cards">
      <li class="card settled" data-state={found.state}>
        <Settled waiting={{ approval: found, ours: "no", settledAt: null, problem: null, chosen: null }} />
      </li>
    </ul>
  );
}

function Help() {
  const keys: [string, string][] = [
    ["O", "approve once"],
    ["S", "for this chat"],
    ["A", "always"],
    ["E", "edit"],
    ["D", "deny"],
    ["J K", "next, previous"],
  ];
  return (
    <p class="key-help soft">
      On a focused card:{" "}
      {keys.map(([key, meaning]) => (
        <span key={key}>
          <kbd>{key}</kbd> {meaning}{" "}
        </span>
      ))}
    </p>
  );
}
