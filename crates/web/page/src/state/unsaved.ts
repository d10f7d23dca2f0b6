// Keeps what somebody has changed and not saved from being lost by leaving: whoever leaves is asked first.

import { useLayoutEffect } from "preact/hooks";
import { guardLeaving } from "../router";

const marks = new Set<symbol>();

const ask = () => globalThis.confirm("What you changed is not saved, and will be lost. Leave all the same?");
const beforeUnload = (event: Event) => event.preventDefault();

function settle(): void {
  guardLeaving(marks.size > 0 ? ask : undefined);
  if (marks.size > 0) addEventListener("beforeunload", beforeUnload);
  else removeEventListener("beforeunload", beforeUnload);
}

/** While it is so, leaving the view asks. */
export function useUnsaved(isUnsaved: boolean): void {
  // At once: somebody may leave before the next picture is drawn.
  useLayoutEffect(() => {
    if (!isUnsaved) return;
    const mark = Symbol();
    marks.add(mark);
    settle();
    return () => {
      marks.delete(mark);
      settle();
    };
  }, [isUnsaved]);
}
