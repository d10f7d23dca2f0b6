// Chooses a model: of those that the server knows, or any that is written.

import { useEffect, useId, useState } from "preact/hooks";
import { worlds } from "../api/calls";

let known: Promise<string[]> | undefined;

interface Props {
  label: string;
  value: string;
  change: (value: string) => void;
  /** What holds where nothing is written. */
  otherwise?: string;
}

export function ModelField({ label, value, change, otherwise }: Props) {
  const [models, setModels] = useState<string[]>([]);
  const id = useId();
  useEffect(() => {
    known ??= worlds.models().catch(() => []);
    void known.then(setModels);
  }, []);
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="code"
        list={id}
        value={value}
        placeholder={otherwise ?? "vendor/model"}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <datalist id={id}>
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <small>
        As vendor/model. Vendors need a key in the server's environment; <code>agent-world doctor</code> says which have
        one.
      </small>
    </label>
  );
}
