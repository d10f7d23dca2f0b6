// Saves a form of settings. Where somebody else saved meanwhile, says so in place of overwriting what they did.

import { useState } from "preact/hooks";
import { Problem, problemText } from "../api/http";
import { isSame, print } from "../api/json";
import { tell } from "../state/toasts";

export interface Saving {
  isBusy: boolean;
  problem: string | null;
  isOvertaken: boolean;
  save: (act: () => Promise<unknown>, done?: string) => Promise<boolean>;
  clear: () => void;
}

export function useSaving(): Saving {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [isOvertaken, setOvertaken] = useState(false);
  const clear = () => {
    setProblem(null);
    setOvertaken(false);
  };
  const save = async (act: () => Promise<unknown>, done = "Saved") => {
    setBusy(true);
    clear();
    try {
      await act();
      tell(done, "good");
      return true;
    } catch (error) {
      setProblem(details(error));
      setOvertaken(error instanceof Problem && error.status === 409);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, problem, isOvertaken, save, clear };
}

/** A form after it was saved: what was typed meanwhile stays, all else is as the server has it. */
export function unlessTyped<T extends object>(now: T, sent: T, saved: T): T {
  const typed = (Object.keys(now) as (keyof T)[]).filter((name) => !isSame(now[name], sent[name]));
  return { ...saved, ...Object.fromEntries(typed.map((name) => [name, now[name]])) };
}

function details(error: unknown): string {
  const text = problemText(error);
  const more = error instanceof Problem ? (error.facts["errors"] ?? error.facts["problems"]) : undefined;
  return Array.isArray(more)
    ? `${text}\n${more.map((one) => (typeof one === "string" ? one : print(one))).join("\n")}`
    : text;
}

export function SavingProblem({ saving, reload }: { saving: Saving; reload: () => void }) {
  if (!saving.problem) return null;
  return (
    <div class="warning" role="alert">
      <div class="grow">
        <p class="lines">{saving.problem}</p>
        {saving.isOvertaken && (
          <p>What you wrote is still here. Reload to see what is there now; your changes in this form then go.</p>
        )}
      </div>
      {saving.isOvertaken && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            saving.clear();
            reload();
          }}
        >
          Reload
        </button>
      )}
    </div>
  );
}
