// The only place where HTML that came from elsewhere becomes part of the page: blocks that the server rendered from Markdown
// and sanitised. Everything else is shown as text.

import { memo } from "./memo";
import { CopyButton } from "./copy";
import { useRef } from "preact/hooks";

const CODE = /^\s*<pre/;

/** One block; drawn again only when it is another. */
const Block = memo(function Block({ html }: { html: string }) {
  const place = useRef<HTMLDivElement>(null);
  const isCode = CODE.test(html);
  return (
    <div class={isCode ? "block block-code" : "block"}>
      <div ref={place} dangerouslySetInnerHTML={{ __html: html }} />
      {isCode && <CopyButton label="Copy code" text={() => codeOf(place.current)} />}
    </div>
  );
});

/** Long code comes in pieces: all of them are meant. */
function codeOf(place: HTMLElement | null): string {
  const pre = (block: Element | null | undefined) => block?.querySelector("pre") ?? null;
  let block: Element | null = place?.parentElement ?? null;
  while (pre(block)?.classList.contains("continued") && block?.previousElementSibling)
    block = block.previousElementSibling;
  let text = pre(block)?.textContent ?? "";
  while (block && pre(block)?.classList.contains("cut") && pre(block.nextElementSibling)) {
    block = block.nextElementSibling;
    text += (text.endsWith("\n") ? "" : "\n") + (pre(block)?.textContent ?? "");
  }
  return text;
}

export function Html({ blocks }: { blocks: readonly string[] }) {
  return (
    <div class="prose">
      {blocks.map((html, index) => (
        <Block key={index} html={html} />
      ))}
    </div>
  );
}

/** Text as it is, where nobody rendered it. */
export function Plain({ text }: { text: string }) {
  return <div class="prose prose-plain">{text}</div>;
}
