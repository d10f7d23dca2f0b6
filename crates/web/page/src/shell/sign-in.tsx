// Asks for a token where the server needs one. The token goes to the server once and is kept nowhere in the page.

import { useState } from "preact/hooks";
import { problemText } from "../api/http";
import calm from "../icons/calm.svg";
import { signIn } from "../state/session";

export function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
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
        <img src={calm} width="44" height="44" alt="" />
        <h1>Sign in to Agent World</h1>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            autofocus
            aria-invalid={problem !== null}
            aria-describedby="sign-in-help"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
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
          An admin makes tokens with <code>agent-world token create NAME --role approver</code>.
        </p>
      </form>
    </main>
  );
}
