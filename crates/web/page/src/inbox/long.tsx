// A text that may be higher than the place it has: it says how much is below, and is shown whole when somebody wants that.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../words";

interface Props {
  kind: "command" | "diff";
  label: string;
  children: ComponentChildren;
}

/** How many lines are below what is seen of it; none where there is nothing to scroll. */
function linesBelow(place: HTMLElement): number | null {
  if (place.scrollHeight - place.clientHeight < 2) return null;
  const rest = place.scrollHeight - place.clientHeight - place.scrollTop;
  const line = Number.parseFloat(getComputedStyle(place).lineHeight);
  return rest < 2 ? 0 : Math.max(1, Math.round(rest / (line || 20)));
}

export function Long({ kind, label, children }: Props) {
  const place = useRef<HTMLPreElement>(null);
  const [below, setBelow] = useState<number | null>(null);
  const [isWhole, setWhole] = useState(false);
  const look = () => setBelow(place.current ? linesBelow(place.current) : null);
  useLayoutEffect(() => {
    if (!place.current) return;
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(place.current);
    return () => sizes.disconnect();
  }, []);
  const showAll = () => {
    setWhole(true);
    // The button goes; whoever pressed it goes on reading.
    place.current?.focus({ preventScroll: true });
  };
  return (
    <div class={`long ${below ? "goes-on" : ""}`}>
      <pre ref={place} class={`${kind} ${isWhole ? "whole" : ""}`} tabIndex={0} aria-label={label} onScroll={look}>
        {children}
      </pre>
      {below !== null && (
        <p class="long-foot">
          {below > 0 ? <strong>{plural(below, "more line")} below</strong> : <span class="soft">This is the end</span>}
          <button type="button" class="text-button" onClick={showAll}>
            Show all of it
          </button>
        </p>
      )}
    </div>
  );
}
