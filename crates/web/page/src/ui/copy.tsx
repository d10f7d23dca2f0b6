// Copies a text and says that it did.

import { useState } from "preact/hooks";
import { announce } from "../state/toasts";
import { Icon } from "./icons";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without a secure origin have no clipboard; a selection can still be copied.
    const place = document.createElement("textarea");
    place.value = text;
    place.className = "off-screen";
    document.body.append(place);
    place.select();
    const done = document.execCommand("copy");
    place.remove();
    return done;
  }
}

export function CopyButton({
  label,
  text,
  kind = "copy-button",
}: {
  label: string;
  text: () => string;
  kind?: string;
}) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(text()))) return;
    announce("Copied");
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  };
  return (
    <button type="button" class={`icon-button ${kind}`} aria-label={label} title={label} onClick={copy}>
      <Icon name={done ? "check" : "copy"} />
    </button>
  );
}
