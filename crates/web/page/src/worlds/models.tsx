// Chooses a model: of those that are used already, or any that is written; and says what it can do.

import { useEffect, useId, useState } from "preact/hooks";
import { worlds, type Model } from "../api/calls";
import { problemText } from "../api/http";

interface Props {
  label: string;
  value: string;
  change: (value: string) => void;
  /** What holds where nothing is written. */
  otherwise?: string;
}

export function ModelField({ label, value, change, otherwise }: Props) {
  const [models, setModels] = useState<Model[]>([]);
  const id = useId();
  useEffect(() => {
    worlds.models().then(setModels, () => {});
  }, []);
  const name = value.trim() || (otherwise?.includes("/") && otherwise !== "vendor/model" ? otherwise : "");
  return (
    <div class="field">
      <label for={`${id}-field`}>
        <span>{label}</span>
      </label>
      <input
        id={`${id}-field`}
        class="code"
        list={id}
        value={value}
        placeholder={otherwise ?? "vendor/model"}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-describedby={`${id}-about`}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <datalist id={id}>
        {models.map((model) => (
          <option key={model.id} value={model.id}>
            {abilities(model).join(", ")}
          </option>
        ))}
      </datalist>
      <div id={`${id}-about`} class="model-about" role="status">
        {name ? <About name={name} /> : <Help />}
      </div>
    </div>
  );
}

function Help() {
  return (
    <small class="soft">
      As vendor/model. Vendors need a key in the server's environment; <code>agent-world doctor</code> says which have
      one.
    </small>
  );
}

/** What the tables say of a model, while its name is written. */
function About({ name }: { name: string }) {
  const [found, setFound] = useState<Model | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      worlds.model(name, stop.signal).then(
        (model) => {
          setFound(model);
          setProblem(null);
        },
        (error: unknown) => {
          if (stop.signal.aborted) return;
          setFound(null);
          setProblem(problemText(error));
        },
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [name]);
  if (problem) return <small class="warn-text">{problem}</small>;
  if (!found) return <Help />;
  if (found.vendor === "demo")
    return <small class="soft">The built-in model for trying things out: it needs no key and no network.</small>;
  if (!found.is_known)
    return <small class="soft">Nothing is known of this model here. It is asked for whatever an agent needs.</small>;
  const cannot = [!found.tools && "cannot use tools", !found.vision && "cannot see images"].filter(Boolean);
  return (
    <>
      {abilities(found).map((one) => (
        <span key={one} class="tag">
          {one}
        </span>
      ))}
      {cannot.length > 0 && <small class={found.tools ? "soft" : "warn-text"}>It {cannot.join(" and ")}.</small>}
    </>
  );
}

export function abilities(model: Model): string[] {
  const window = model.context_window;
  return [
    model.tools && "tools",
    model.vision && "images",
    model.reasoning && "reasoning",
    model.json_schema && "JSON schema",
    window ? `${tokens(window)} context` : false,
    model.max_output_tokens ? `${tokens(model.max_output_tokens)} reply` : false,
  ].filter((one): one is string => typeof one === "string");
}

function tokens(count: number): string {
  if (count >= 1_000_000) return `${+(count / 1_000_000).toFixed(1)}M`;
  return count >= 1_000 ? `${Math.round(count / 1_000)}k` : String(count);
}
