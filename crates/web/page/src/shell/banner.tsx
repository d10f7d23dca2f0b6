// Says when the server cannot be heard, and since when. Nothing is said of a short break.

import { connection, lostSince, tryAgain } from "../state/news";
import { Icon } from "../ui/icons";
import { second } from "../ui/now";

const PATIENCE = 1_500;

export function Banner() {
  const since = lostSince.value;
  const isLost = since !== null && second.value - since > PATIENCE;
  if (!isLost && connection.value !== "refused") return <div role="status" />;
  return (
    <div class="banner" role="status">
      <Icon name="warn" />
      <span>
        {connection.value === "refused"
          ? "The server refuses to tell its news. Reload the page to sign in again."
          : "The server cannot be reached. What you see may be out of date; it is caught up as soon as the server is back."}
      </span>
      <button type="button" class="button small" onClick={tryAgain}>
        Try now
      </button>
    </div>
  );
}
