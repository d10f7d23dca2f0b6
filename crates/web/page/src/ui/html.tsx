// The only place where HTML that came from elsewhere becomes part of the page: blocks that the server rendered from Markdown
// and sanitised. Everything else is shown as text. Of a text without end only the beginning is drawn until somebody wants more.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../words";
import { CopyButton } from "./copy";
import { memo } from "./memo";

const CODE = /^\s*<pre/;
/** Blocks, and characters of HTML, that are drawn at a time. */
const BLOCKS = 1_000;
const LENGTH = 400_000;

interface Shared {
  current: readonly string[];
}

/** One block; drawn again only when it is another. */
const Block = memo(function Block({ html, at, all }: { html: string; at: number; all: Shared }) {
  const place = useRef<HTMLDivElement>(null);
  const isCode = CODE.test(html);
  // What may be wider than the screen is scrolled by keys too.
  useLayoutEffect(() => {
    for (const one of place.current?.querySelectorAll<HTMLElement>("pre, table") ?? []) one.tabIndex = 0;
  }, [html]);
  return (
    <div class={isCode ? "block block-code" : "block"}>
      <div ref={place} dangerouslySetInnerHTML={{ __html: html }} />
      {isCode && <CopyButton label="Copy code" text={() => codeOf(all.current, at)} />}
    </div>
  );
});

/** Long code comes in pieces: all of them are meant, drawn or not. */
function codeOf(blocks: readonly string[], at: number): string {
  const pre = (place: number) => {
    const apart = document.createElement("template");
    apart.innerHTML = blocks[place] ?? "";
    return apart.content.querySelector("pre");
  };
  let first = at;
  while (first > 0 && pre(first)?.classList.contains("continued")) first -= 1;
  let text = "";
  for (let place = first; ; place += 1) {
    const piece = pre(place);
    if (!piece) return text;
    text += (text === "" || text.endsWith("\n") ? "" : "\n") + (piece.textContent ?? "");
    if (!piece.classList.contains("cut")) return text;
  }
}

/** How many blocks fit, a few at least. */
function fitting(blocks: readonly string[], times: number): number {
  let length = 0;
  const most = Math.min(blocks.length, BLOCKS * times);
  for (let at = 0; at < most; at += 1) {
    length += blocks[at]?.length ?? 0;
    if (length > LENGTH * times) return Math.max(at, 1);
  }
  return most;
}

export function Html({ blocks }: { blocks: readonly string[] }) {
  const [times, setTimes] = useState(1);
  const all = useRef(blocks);
  all.current = blocks;
  const drawn = fitting(blocks, times);
  const shown = drawn < blocks.length ? blocks.slice(0, drawn) : blocks;
  return (
    <div class="prose">
      {shown.map((html, at) => (
        <Block key={at} html={html} at={at} all={all} />
      ))}
      {drawn < blocks.length && (
        <button type="button" class="text-button" onClick={() => setTimes(times + 1)}>
          This is very long. Show more ({plural(blocks.length - drawn, "block")} left)
        </button>
      )}
    </div>
  );
}

/** Text as it is, where nobody rendered it. */
export function Plain({ text }: { text: string }) {
  return <div class="prose prose-plain">{text}</div>;
}
