// Small things that many views show: who somebody is, that something loads, that nothing is there, what went wrong.

import type { ComponentChildren } from "preact";
import { announcement, dismiss, toasts } from "../state/toasts";
import { fullTime, hue } from "../words";
import { Icon, type IconName } from "./icons";

export function Avatar({ name, size = "" }: { name: string; size?: "" | "small" }) {
  return (
    <span class={`avatar hue-${hue(name.toLowerCase())} ${size}`} aria-hidden="true">
      {[...name][0]?.toUpperCase() ?? "?"}
    </span>
  );
}

export function Time({ at, children }: { at: string; children: ComponentChildren }) {
  return (
    <time dateTime={at} title={fullTime(at)}>
      {children}
    </time>
  );
}

export function Loading({ label = "Loading" }: { label?: string }) {
  return (
    <div class="state" role="status">
      <span class="spinner" aria-hidden="true" />
      <span class="soft">{label}…</span>
    </div>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <span class="state-icon">
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface Failed {
  text: string;
  again?: () => void;
  /** Another way on. */
  children?: ComponentChildren;
}

export function Failure({ text, again, children }: Failed) {
  return (
    <div class="state" role="alert">
      <span class="state-icon bad">
        <Icon name="warn" size={22} />
      </span>
      <p>{text}</p>
      {again && (
        <button type="button" class="button" onClick={again}>
          <Icon name="retry" /> Try again
        </button>
      )}
      {children}
    </div>
  );
}


export function Toasts() {
  return (
    <>
      <div class="toasts" role="region" aria-label="Notices">
        {toasts.value.map((toast) => (
          <div key={toast.id} class={`toast toast-${toast.tone}`} role={toast.tone === "bad" ? "alert" : "status"}>
            <span>{toast.text}</span>
            {toast.action && (
              <button type="button" class="text-button" onClick={toast.action.act}>
                {toast.action.label}
              </button>
            )}
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
      <div class="off-screen" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </>
  );
}
