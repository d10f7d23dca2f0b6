// A view whose code is loaded when somebody goes there.

import { createElement, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { problemText } from "../api/http";
import { Failure, Loading } from "./parts";

interface Props<P extends object> {
  load: () => Promise<ComponentType<P>>;
  with?: P;
}

export function Lazy<P extends object>({ load, with: given }: Props<P>) {
  const [found, setFound] = useState<{ view: ComponentType<P> } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const start = () => {
    setProblem(null);
    load()
      .then((view) => setFound({ view }))
      .catch((error: unknown) => setProblem(problemText(error)));
  };
  useEffect(start, []);
  // The page may have been built anew since it was opened: then its old parts are gone.
  if (problem) return <Failure text="This part of the page could not be loaded." again={() => location.reload()} />;
  if (!found) return <Loading />;
  return createElement(found.view, (given ?? {}) as P);
}
