// A field for Markdown, and what it looks like, as the server renders it.

import { useEffect, useState } from "preact/hooks";
import { renderText } from "../api/calls";
import { Html, Plain } from "../ui/html";

export function Preview({ label, value, change }: { label: string; value: string; change: (value: string) => void }) {
  const [isShown, setShown] = useState(false);
  const [html, setHtml] = useState<string[] | null>(null);
  useEffect(() => {
    if (!isShown) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      renderText(value, stop.signal).then(
        (found) => setHtml(found.html),
        () => setHtml(null),
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [isShown, value]);
  return (
    <div class="field">
      <div class="row">
        <span class="grow legend" id="preview-label">
          {label}
        </span>
        <button type="button" class="text-button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? "Write" : "Preview"}
        </button>
      </div>
      {isShown ? (
        <div class="preview">{html ? <Html blocks={html} /> : <Plain text={value} />}</div>
      ) : (
        <textarea
          rows={8}
          aria-labelledby="preview-label"
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </div>
  );
}
