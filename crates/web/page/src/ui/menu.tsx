// A button with a menu: arrow keys move, Escape closes and gives the focus back.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

export interface Item {
  label: string;
  icon?: IconName;
  act: () => void;
  isDangerous?: boolean;
}

export function Menu({
  label,
  items,
  icon = "more",
  kind = "",
}: {
  label: string;
  items: Item[];
  icon?: IconName;
  kind?: string;
}) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = (back: boolean) => {
    setOpen(false);
    if (back) button.current?.focus();
  };

  useEffect(() => {
    if (!isOpen) return;
    list.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const outside = (event: Event) => {
      const target = event.target as Node;
      if (!list.current?.contains(target) && !button.current?.contains(target)) close(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);

  const key = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    const to = moves[event.key];
    if (event.key === "Escape") close(true);
    else if (event.key === "Tab") return close(false);
    else if (to === undefined) return;
    else all[(to + all.length) % all.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  };

  if (items.length === 0) return null;
  return (
    <div class={`menu ${kind}`}>
      <button
        ref={button}
        type="button"
        class="icon-button"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <div ref={list} id={id} role="menu" aria-label={label} class="menu-list" onKeyDown={key}>
          {items.map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={item.isDangerous ? "danger-text" : ""}
              onClick={() => {
                close(true);
                item.act();
              }}
            >
              {item.icon && <Icon name={item.icon} />}
              {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
