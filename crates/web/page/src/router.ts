// Which view an address stands for, and how to go there without loading the page again.

import { signal } from "@preact/signals";

export type Route =
  | { view: "home" }
  | { view: "inbox"; approval?: string }
  | { view: "worlds" }
  | { view: "world"; world: string }
  | { view: "chat"; world: string; chat: string; message?: string }
  | { view: "settings"; world: string }
  | { view: "history"; world: string }
  | { view: "audit" }
  | { view: "stats" }
  | { view: "sign-in" }
  | { view: "unknown"; path: string };

export function parse(path: string): Route {
  const parts = path.split("/").filter(Boolean).map(decode);
  const [first, a, b, c, d, e] = parts;
  const length = parts.length;
  if (length === 0) return { view: "home" };
  if (first === "inbox" && length === 1) return { view: "inbox" };
  if (first === "inbox" && length === 2 && a) return { view: "inbox", approval: a };
  if (length === 1 && (first === "worlds" || first === "audit" || first === "stats" || first === "sign-in")) {
    return { view: first };
  }
  if (first === "w" && a) {
    if (length === 2) return { view: "world", world: a };
    if (length === 3 && (b === "settings" || b === "history")) return { view: b, world: a };
    if (b === "c" && c && length === 4) return { view: "chat", world: a, chat: c };
    if (b === "c" && c && d === "m" && e && length === 6) return { view: "chat", world: a, chat: c, message: e };
  }
  return { view: "unknown", path };
}

export function href(route: Route): string {
  const part = encodeURIComponent;
  switch (route.view) {
    case "home":
      return "/";
    case "inbox":
      return route.approval ? `/inbox/${part(route.approval)}` : "/inbox";
    case "world":
      return `/w/${part(route.world)}`;
    case "chat": {
      const chat = `/w/${part(route.world)}/c/${part(route.chat)}`;
      return route.message ? `${chat}/m/${part(route.message)}` : chat;
    }
    case "settings":
    case "history":
      return `/w/${part(route.world)}/${route.view}`;
    case "unknown":
      return route.path;
    default:
      return `/${route.view}`;
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>({ view: "home" });
/** Asked before the page is left; false keeps it. */
let mayLeave: (() => boolean) | undefined;
/** The address of what is shown. */
let here = "";

export function guardLeaving(ask: (() => boolean) | undefined): void {
  mayLeave = ask;
}

/** Whether the view may be left; somebody may have been asked. */
export function mayGo(): boolean {
  return !mayLeave || mayLeave();
}

export function go(to: Route | string, how: "push" | "replace" = "push"): void {
  const address = typeof to === "string" ? to : href(to);
  if (address === location.pathname + location.search) return;
  if (how === "push" && !mayGo()) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", address);
  here = location.href;
  route.value = parse(location.pathname);
}

export function startRouter(): void {
  route.value = parse(location.pathname);
  here = location.href;
  addEventListener("popstate", () => {
    const isOther = new URL(here).pathname !== location.pathname;
    if (isOther && !mayGo()) {
      // The browser has gone back already.
      history.pushState(null, "", here);
      return;
    }
    here = location.href;
    route.value = parse(location.pathname);
  });
  // Links are plain links: they can be opened in another tab, copied, and read aloud.
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (/^\/(api|v1|docs|openapi\.json|metrics|assets)(\/|$)/.test(link.pathname)) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
