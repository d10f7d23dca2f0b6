// Says when the server cannot be heard, and since when, or does not say what waits. Nothing is said of a short break.

import { useLayoutEffect, useRef } from "preact/hooks";
import { route } from "../router";
import { inboxProblem, refreshInbox } from "../state/inbox";
import { connection, lostSince, tryAgain } from "../state/news";
import { Icon } from "../ui/icons";
import { second } from "../ui/now";

const PATIENCE = 1_500;

export function Banner() {
  const since = lostSince.value;
  const isLost = since !== null && second.value - since > PATIENCE;
  if (connection.value === "refused")
    return <Line text="The server refuses to tell its news. Reload the page to sign in again." again={tryAgain} />;
  if (isLost)
    return (
      <Line
        text="The server cannot be reached. What you see may be out of date; it is caught up as soon as the server is back."
        again={tryAgain}
      />
    );
  // The inbox says so itself.
  if (inboxProblem.value && route.value.view !== "inbox")
    return (
      <Line text="What waits for you could not be loaded: there may be more." again={() => void refreshInbox()} />
    );
  return <div role="status" />;
}

function Line({ text, again }: { text: string; again: () => void }) {
  const place = useRef<HTMLDivElement>(null);
  // Toasts stand below it, however many lines it takes.
  useLayoutEffect(() => {
    const root = document.documentElement.style;
    const observer = new ResizeObserver(() => root.setProperty("--banner", `${place.current?.offsetHeight ?? 0}px`));
    if (place.current) observer.observe(place.current);
    return () => {
      observer.disconnect();
      root.removeProperty("--banner");
    };
  }, []);
  return (
    <div class="banner" role="status" ref={place}>
      <Icon name="warn" />
      <span>{text}</span>
      <button type="button" class="button small" onClick={again}>
        Try now
      </button>
    </div>
  );
}
