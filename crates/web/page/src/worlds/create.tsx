// Makes a world, of a template or with one agent, ready to be talked to.

import { useState } from "preact/hooks";
import templates from "virtual:templates";
import { chats, worlds as calls } from "../api/calls";
import { problemText } from "../api/http";
import type { Fields } from "../api/types";
import { go } from "../router";
import { putChat, putWorld } from "../state/worlds";
import { Dialog } from "../ui/dialog";
import { ModelField } from "./models";

const NAMES: Record<string, string> = { pair: "Pair", debate: "Debate", coder: "Coder", ops: "Operations" };

export function CreateWorld({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [model, setModel] = useState("demo/demo");
  const [template, setTemplate] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const begun: Fields = templates.find((one) => one.name === template)?.settings ?? {
        agents: [{ id: "ada", name: "Ada" }],
        main_agent: "ada",
      };
      const world = await calls.create({
        ...begun,
        name: name.trim(),
        ...(model.trim() ? { default_model: model.trim() } : {}),
      });
      putWorld(world);
      const known = await chats.list(world.id);
      const chat = known[0] ?? (await chats.create(world.id));
      putChat(chat);
      close();
      go({ view: "chat", world: world.id, chat: chat.id });
    } catch (error) {
      setProblem(problemText(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="New world" onClose={close} kind="dialog-wide">
      <form onSubmit={submit}>
        {/* What would be typed while it is saved would go with the dialog. */}
        <fieldset class="stack" disabled={isBusy}>
          <label class="field">
            <span>Name</span>
            <input
              value={name}
              maxLength={200}
              required
              onInput={(event) => setName(event.currentTarget.value)}
              autofocus
            />
          </label>
          <fieldset class="templates">
            <legend>Begin with</legend>
            <Template
              name=""
              title="One agent"
              text="Ada, with all tools. Change everything later."
              chosen={template}
              choose={setTemplate}
            />
            {templates.map((one) => (
              <Template
                key={one.name}
                name={one.name}
                title={NAMES[one.name] ?? one.name}
                text={String(one.settings["description"] ?? "")}
                chosen={template}
                choose={setTemplate}
              />
            ))}
          </fieldset>
          <ModelField label="Model of its agents" value={model} change={setModel} />
          {problem && (
            <p class="bad-text" role="alert">
              {problem}
            </p>
          )}
          <div class="row end sticky-foot">
            <button type="button" class="button" onClick={close}>
              Cancel
            </button>
            <button type="submit" class="button primary" disabled={isBusy || !name.trim()}>
              {isBusy ? "Creating…" : "Create"}
            </button>
          </div>
        </fieldset>
      </form>
    </Dialog>
  );
}

interface TemplateProps {
  name: string;
  title: string;
  text: string;
  chosen: string;
  choose: (name: string) => void;
}

function Template({ name, title, text, chosen, choose }: TemplateProps) {
  return (
    <label class="template">
      <input type="radio" name="template" checked={chosen === name} onChange={() => choose(name)} />
      <span>
        <strong>{title}</strong> <span class="soft">{text}</span>
      </span>
    </label>
  );
}
