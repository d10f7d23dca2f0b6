// Asks for a token where the server needs one. The token goes to the server once and is kept nowhere in the page.

import { useState } from "preact/hooks";
import { problemText } from "../api/http";
import calm from "../icons/calm.svg";
import { sessionEnded, signIn } from "../state/session";

export function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isShown, setShown] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!token.trim()) return;
    setBusy(true);
    setProblem(null);
    try {
      await signIn(token.trim());
    } catch (error) {
      setProblem(problemText(error));
      setBusy(false);
    }
  };
  return (
    <main class="alone" id="main">
      <form class="sign-in stack" onSubmit={submit}>
        <header class="sign-in-head">
          <img src={calm} width="48" height="48" alt="" />
          <h1>Sign in to Agent World</h1>
          <p class="soft">{location.host}</p>
        </header>
        {sessionEnded.value && !problem && (
          <p class="notice-line" role="status">
            You are signed out: the session ran out, or its token was taken back. Sign in, and go on where you were.
          </p>
        )}
        <label class="field">
          <span>Token</span>
          <input
            type={(isShown ? "text" : "password") as "password"}
            autocomplete="current-password"
            autocapitalize="off"
            spellcheck={false}
            placeholder="awt_…"
            value={token}
            autofocus
            aria-invalid={problem !== null}
            aria-describedby="sign-in-help"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <label class="check small-text">
          <input type="checkbox" checked={isShown} onChange={(event) => setShown(event.currentTarget.checked)} /> Show
          it
        </label>
        {problem && (
          <p class="bad-text" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="button primary wide" disabled={isBusy || !token.trim()}>
          {isBusy ? "Signing in…" : "Sign in"}
        </button>
        <p class="soft small-text" id="sign-in-help">
          Whoever runs the server makes tokens with{" "}
          <code class="command">agent-world token create NAME --role approver</code> It goes to the server once, and the
          page keeps it nowhere.
        </p>
      </form>
    </main>
  );
}
