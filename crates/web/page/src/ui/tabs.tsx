// Tabs: arrow keys move between them, the chosen one says what is shown below.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props<T extends string> {
  label: string;
  all: readonly T[];
  chosen: T;
  choose: (tab: T) => void;
  children: ComponentChildren;
}

export function Tabs<T extends string>({ label, all, chosen, choose, children }: Props<T>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  // On a narrow screen not all of them are seen at once.
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [chosen]);
  const key = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const to = (all.indexOf(chosen) + step + all.length) % all.length;
    const tab = all[to];
    if (tab !== undefined) choose(tab);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
  };
  return (
    <>
      <div ref={list} role="tablist" aria-label={label} class="tabs" onKeyDown={key}>
        {all.map((tab, at) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`${id}-${at}`}
            aria-selected={tab === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={tab === chosen ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {tab}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${all.indexOf(chosen)}`} class="tab-panel">
        {children}
      </div>
    </>
  );
}
