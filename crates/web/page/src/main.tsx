// Starts the page.

import { render } from "preact";
import { App } from "./app";
import { startRouter } from "./router";
import { startDrafts } from "./inbox/drafts";
import { showInbox } from "./inbox/panel";
import { startColours } from "./state/kept";
import { startNotices } from "./state/notices";
import { startOutbox } from "./state/outbox";
import { startSession, sessionProblem } from "./state/session";
import { problemText } from "./api/http";
import { startTitle } from "./shell/title";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/chat.css";
import "./styles/prose.css";
import "./styles/inbox.css";
import "./styles/pages.css";

startColours();
startRouter();
startTitle();
startNotices(showInbox);
startOutbox();
startDrafts();
startSession().catch((error: unknown) => {
  sessionProblem.value = problemText(error);
});

const place = document.getElementById("app");
if (place) render(<App />, place);
