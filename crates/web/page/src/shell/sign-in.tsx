// Asks for a token where the server needs one. The token goes to the server once and is kept nowhere in the page.
// Whoever is signed out in the middle of something signs in over it, and finds it as it was.

import { useState } from "preact/hooks";
import { problemText } from "../api/http";
import calm from "../icons/calm.svg";
import { interruption, me, signIn, type Interruption } from "../state/session";
import { Dialog } from "../ui/dialog";

export function SignIn() {
  return (
    <main class="alone" id="main">
      <div class="sign-in stack">
        <header class="sign-in-head">
          <img src={calm} width="48" height="48" alt="" />
          <h1>Sign in to Agent World</h1>
          <p class="soft">{location.host}</p>
        </header>
        <TokenForm />
      </div>
    </main>
  );
}

/** Over the view, while somebody cannot go on. */
export function SignInAgain() {
  const by = interruption.value;
  if (!by) return null;
  return (
    <Dialog title={by.kind === "ended" ? "You are signed out" : "Somebody else is signed in"} kind="dialog-small">
      <div class="stack">
        <Reason by={by} name={me.value?.name ?? ""} />
        <TokenForm />
        {by.kind === "other" && (
          <button type="button" class="button wide" onClick={() => location.reload()}>
            Go on as {by.name}, without what is written here
          </button>
        )}
      </div>
    </Dialog>
  );
}

function Reason({ by, name }: { by: Interruption; name: string }) {
  return (
    <p class="notice-line" role="status">
      {by.kind === "ended" ? (
        <>The session ran out, or its token was taken back. Sign in, and go on where you were: </>
      ) : (
        <>
          {by.name} is signed in in this browser now, in another tab. Nothing is sent in their name from here. Sign in as{" "}
          {name} to go on:{" "}
        </>
      )}
      what you wrote is still here.
    </p>
  );
}

function TokenForm() {
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
    <form class="stack" onSubmit={submit}>
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
        <input type="checkbox" checked={isShown} onChange={(event) => setShown(event.currentTarget.checked)} /> Show it
      </label>
      {problem && (
        <p class="bad-text" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="button primary wide" disabled={isBusy || !token.trim()}>
        {isBusy ? "Signing in…" : "Sign in"}
      </button>
      <p class="soft small-text sign-in-help" id="sign-in-help">
        Whoever runs the server makes tokens with{" "}
        <code class="command">agent-world token create NAME --role approver</code> It goes to the server once, and the
        page keeps it nowhere.
      </p>
    </form>
  );
}
