// Makes or changes an agent: its model, its instructions with a preview, its tools.

import { useEffect, useState } from "preact/hooks";
import { agents as calls, worlds, type Tool } from "../api/calls";
import type { Agent, Fields, World } from "../api/types";
import { mayGo } from "../router";
import { useUnsaved } from "../state/unsaved";
import { putWorld, worldById } from "../state/worlds";
import { Dialog } from "../ui/dialog";
import { ModelField } from "./models";
import { Preview } from "./preview";
import { SavingProblem, useSaving } from "./saving";

export function AgentForm({ world, agent, close }: { world: World; agent: Agent | null; close: () => void }) {
  const [version, setVersion] = useState(world.version);
  const [form, setForm] = useState(() => fieldsOf(agent));
  const saving = useSaving();
  const put = (change: Partial<typeof form>) => setForm((now) => ({ ...now, ...change }));
  const [begun, setBegun] = useState(form);
  useUnsaved(JSON.stringify(form) !== JSON.stringify(begun));
  const leave = () => mayGo() && close();
  const submit = (event: Event) => {
    event.preventDefault();
    void saving
      .save(
        async () => {
          const body: Fields = { ...bodyOf(form), version };
          if (agent) await calls.change(world.id, agent.id, body);
          else await calls.create(world.id, { ...bodyOf(form), ...(form.id ? { id: form.id } : {}) });
          putWorld(await worlds.read(world.id));
        },
        agent ? "Saved" : `${form.name} lives in ${world.name} now`,
      )
      .then((worked) => worked && close());
  };
  const reload = async () => {
    const now = await worlds.read(world.id);
    putWorld(now);
    setVersion(now.version);
    const found = now.agents.find((one) => one.id === agent?.id);
    if (!found) return;
    setForm(fieldsOf(found));
    setBegun(fieldsOf(found));
  };
  return (
    <Dialog title={agent ? `Agent ${agent.name}` : "New agent"} onClose={leave} kind="dialog-wide">
      <form onSubmit={submit}>
        {/* What would be typed while it is saved would go with the dialog. */}
        <fieldset class="stack" disabled={saving.isBusy}>
          <div class="pair">
            <label class="field">
              <span>Name</span>
              <input
                value={form.name}
                maxLength={200}
                required
                autofocus
                onInput={(event) => put({ name: event.currentTarget.value })}
              />
            </label>
            {agent ? (
              <div class="field">
                <span>Mentioned as</span>
                <code class="fixed">@{agent.id}</code>
              </div>
            ) : (
              <label class="field">
                <span>Mentioned as</span>
                <input
                  class="code"
                  value={form.id}
                  placeholder="made of the name"
                  pattern="[a-zA-Z0-9_\-]*"
                  onInput={(event) => put({ id: event.currentTarget.value })}
                />
              </label>
            )}
          </div>
          <ModelField
            label="Model"
            value={form.model}
            otherwise={worldById.value.get(world.id)?.default_model ?? "vendor/model"}
            change={(model) => put({ model })}
          />
          <Preview label="Instructions" value={form.instructions} change={(instructions) => put({ instructions })} />
          <ToolPicker world={world.id} chosen={form.tools} change={(tools) => put({ tools })} />
          <div class="pair">
            <label class="field">
              <span>Temperature</span>
              <input
                type="number"
                min={0}
                max={2}
                step="0.1"
                placeholder="the model's own"
                value={form.temperature}
                onInput={(event) => put({ temperature: event.currentTarget.value })}
              />
            </label>
            <label class="field">
              <span>Reasoning effort</span>
              <select
                value={form.reasoning_effort}
                onChange={(event) => put({ reasoning_effort: event.currentTarget.value })}
              >
                <option value="">The model's own</option>
                {["none", "minimal", "low", "medium", "high"].map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>Longest reply</span>
              <input
                type="number"
                min={1}
                placeholder="the model's own"
                value={form.max_output_tokens}
                onInput={(event) => put({ max_output_tokens: event.currentTarget.value })}
              />
              <small>Tokens</small>
            </label>
          </div>
          <label class="check">
            <input
              type="checkbox"
              checked={form.auto_reply}
              onChange={(event) => put({ auto_reply: event.currentTarget.checked })}
            />{" "}
            Answers the agent that spoke to it
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={form.parallel_tool_calls}
              onChange={(event) => put({ parallel_tool_calls: event.currentTarget.checked })}
            />{" "}
            May call several tools at once
          </label>
          <SavingProblem saving={saving} reload={() => void reload()} />
          <div class="row end sticky-foot">
            <button type="button" class="button" onClick={leave}>
              Cancel
            </button>
            <button type="submit" class="button primary" disabled={saving.isBusy || !form.name.trim()}>
              {saving.isBusy ? "Saving…" : agent ? "Save" : "Add"}
            </button>
          </div>
        </fieldset>
      </form>
    </Dialog>
  );
}

function fieldsOf(agent: Agent | null) {
  return {
    id: agent?.id ?? "",
    name: agent?.name ?? "",
    model: agent?.model ?? "",
    instructions: agent?.instructions ?? "",
    tools: agent?.tools ?? ["*"],
    temperature: agent?.temperature?.toString() ?? "",
    max_output_tokens: agent?.max_output_tokens?.toString() ?? "",
    reasoning_effort: agent?.reasoning_effort ?? "",
    auto_reply: agent?.auto_reply ?? true,
    parallel_tool_calls: agent?.parallel_tool_calls ?? true,
  };
}

function bodyOf(form: ReturnType<typeof fieldsOf>): Fields {
  return {
    name: form.name.trim(),
    model: form.model.trim() || null,
    instructions: form.instructions,
    tools: form.tools,
    temperature: form.temperature === "" ? null : Number(form.temperature),
    max_output_tokens: form.max_output_tokens === "" ? null : Number(form.max_output_tokens),
    reasoning_effort: form.reasoning_effort || null,
    auto_reply: form.auto_reply,
    parallel_tool_calls: form.parallel_tool_calls,
  };
}

function ToolPicker({ world, chosen, change }: { world: string; chosen: string[]; change: (tools: string[]) => void }) {
  const [known, setKnown] = useState<Tool[]>([]);
  useEffect(() => {
    worlds.tools(world).then(setKnown, () => setKnown([]));
  }, [world]);
  const isAll = chosen.includes("*");
  const names = [...new Set([...known.map((tool) => tool.name), ...chosen.filter((name) => name !== "*")])];
  const toggle = (name: string, on: boolean) => change(on ? [...chosen, name] : chosen.filter((one) => one !== name));
  return (
    <fieldset>
      <legend class="legend">Tools</legend>
      <label class="check">
        <input
          type="checkbox"
          checked={isAll}
          onChange={(event) => change(event.currentTarget.checked ? ["*"] : names)}
        />{" "}
        All, also those that come later
      </label>
      {!isAll && (
        <ul class="tool-list">
          {names.map((name) => {
            const tool = known.find((one) => one.name === name);
            return (
              <li key={name}>
                <label class="check" title={tool?.description}>
                  <input
                    type="checkbox"
                    checked={chosen.includes(name)}
                    onChange={(event) => toggle(name, event.currentTarget.checked)}
                  />
                  <code>{name}</code>
                  {tool?.read_only && <span class="tag">reads</span>}
                  {tool?.approval.required && <span class="tag">asks</span>}
                </label>
              </li>
            );
          })}
        </ul>
      )}
    </fieldset>
  );
}
