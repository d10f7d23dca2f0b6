// The whole page: what stands beside the view, and which view there is.

import { useEffect, useRef } from "preact/hooks";
import { ChatView } from "./chat/view";
import { InboxPage } from "./inbox/page";
import { InboxPanel, isPanelShown } from "./inbox/panel";
import { route, type Route } from "./router";
import { Banner } from "./shell/banner";
import { Help } from "./shell/help";
import { Home, WorldStart } from "./shell/home";
import { useGlobalKeys } from "./shell/keys";
import { Sidebar } from "./shell/sidebar";
import { SignIn, SignInAgain } from "./shell/sign-in";
import { TopBar } from "./shell/top-bar";
import { Switcher } from "./shell/switcher";
import { interruption, me, sessionProblem, startSession } from "./state/session";
import { Questions } from "./ui/dialog";
import { Lazy } from "./ui/lazy";
import { Empty, Failure, Loading, Toasts } from "./ui/parts";

export function App() {
  return (
    <>
      <Inner />
      <Questions />
      <SignInAgain />
      <Toasts />
    </>
  );
}

function Inner() {
  if (route.value.view === "sign-in") return <SignIn />;
  if (sessionProblem.value && !me.value) {
    const again = () => {
      sessionProblem.value = null;
      startSession().catch((error: unknown) => {
        sessionProblem.value = error instanceof Error ? error.message : String(error);
      });
    };
    return (
      <main class="alone">
        <Failure text={sessionProblem.value} again={again} />
      </main>
    );
  }
  if (!me.value)
    return (
      <main class="alone">
        <Loading label="Connecting" />
      </main>
    );
  return <Shell />;
}

function Shell() {
  useGlobalKeys();
  const hasPanel = isPanelShown.value;
  return (
    <div class={`shell ${hasPanel ? "with-panel" : ""} ${interruption.value ? "covered" : ""}`}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <Sidebar />
      <div class="middle">
        <Banner />
        <View />
      </div>
      {hasPanel && <InboxPanel />}
      <Switcher />
      <Help />
    </div>
  );
}

function View() {
  const now = route.value;
  const place = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const kind = now.view === "chat" ? `chat ${now.chat}` : now.view + ("world" in now ? now.world : "");
  // Whoever goes to another view by keys or with a screen reader begins at its beginning.
  useEffect(() => {
    if (isFirst.current) isFirst.current = false;
    else if (now.view !== "chat") place.current?.focus({ preventScroll: true });
  }, [kind]);
  return (
    <main id="main" ref={place} tabIndex={-1} class={`view view-${now.view}`}>
      {view(now)}
    </main>
  );
}

// Each has a key of its own: what was loaded for one view must not be shown as another.
function view(now: Route) {
  switch (now.view) {
    case "home":
      return <Home />;
    case "inbox":
      return <InboxPage approval={now.approval} />;
    case "world":
      return <WorldStart world={now.world} />;
    case "chat":
      return <ChatView key={now.chat} world={now.world} chat={now.chat} message={now.message} />;
    case "worlds":
      return <Lazy key="worlds" load={() => import("./worlds/list").then((found) => found.WorldsPage)} />;
    case "settings":
      return (
        <Lazy
          key={`settings ${now.world}`}
          load={() => import("./worlds/settings").then((found) => found.SettingsPage)}
          with={{ world: now.world }}
        />
      );
    case "history":
      return (
        <Lazy
          key={`history ${now.world}`}
          load={() => import("./history/page").then((found) => found.HistoryPage)}
          with={{ world: now.world }}
        />
      );
    case "audit":
      return <Lazy key="audit" load={() => import("./history/audit").then((found) => found.AuditPage)} />;
    case "stats":
      return <Lazy key="stats" load={() => import("./history/stats").then((found) => found.StatsPage)} />;
    default:
      return (
        <>
          <TopBar title="Not found" />
          <Empty icon="search" title="There is nothing here">
            <p class="soft">The address may be mistyped, or what it led to was deleted.</p>
            <a class="button" href="/">
              Go to the beginning
            </a>
          </Empty>
        </>
      );
  }
}
