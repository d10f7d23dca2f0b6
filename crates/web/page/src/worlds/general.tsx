// What holds for a whole world: its name, its limits, its sandbox.

import { useState } from "preact/hooks";
import { worlds as calls } from "../api/calls";
import type { Fields, World } from "../api/types";
import { mayManage } from "../state/session";
import { useUnsaved } from "../state/unsaved";
import { putWorld } from "../state/worlds";
import { ModelField } from "./models";
import { SavingProblem, unlessTyped, useSaving } from "./saving";

export function General({ world }: { world: World }) {
  const [begun, setBegun] = useState(world);
  const [form, setForm] = useState(() => fieldsOf(world));
  const saving = useSaving();
  const put = (change: Partial<typeof form>) => setForm((now) => ({ ...now, ...change }));
  const reload = async () => {
    const now = await calls.read(world.id);
    putWorld(now);
    setBegun(now);
    setForm(fieldsOf(now));
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void saving.save(async () => {
      const changed = await calls.change(world.id, { ...changes(begun, form), version: begun.version });
      putWorld(changed);
      setBegun(changed);
      setForm((now) => unlessTyped(now, form, fieldsOf(changed)));
    });
  };
  const isSame = Object.keys(changes(begun, form)).length === 0;
  useUnsaved(!isSame);
  return (
    <form class="stack" onSubmit={submit}>
      {world.version > begun.version && !saving.isOvertaken && (
        <p class="notice-line">
          Somebody changed this world meanwhile.{" "}
          <button type="button" class="text-button" onClick={reload}>
            Reload
          </button>
        </p>
      )}
      <fieldset class="stack" disabled={!mayManage.value}>
        <label class="field">
          <span>Name</span>
          <input
            value={form.name}
            maxLength={200}
            required
            onInput={(event) => put({ name: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>What it is for</span>
          <input value={form.description} onInput={(event) => put({ description: event.currentTarget.value })} />
        </label>
        <label class="field">
          <span>Who answers when nobody is addressed</span>
          <select value={form.main_agent} onChange={(event) => put({ main_agent: event.currentTarget.value })}>
            <option value="">Every agent</option>
            {world.agents.map((agent) => (
              <option key={agent.id} value={agent.id}>
                {agent.name}
              </option>
            ))}
          </select>
        </label>
        <ModelField
          label="Model, where an agent has none of its own"
          value={form.default_model}
          change={(value) => put({ default_model: value })}
        />
        <div class="pair">
          <label class="field">
            <span>Turn limit</span>
            <input
              type="number"
              min={1}
              value={form.turn_limit}
              onInput={(event) => put({ turn_limit: event.currentTarget.value })}
            />
            <small>Turns of an agent until a person speaks again</small>
          </label>
          <label class="field">
            <span>Model calls in a turn</span>
            <input
              type="number"
              min={1}
              value={form.max_iterations}
              onInput={(event) => put({ max_iterations: event.currentTarget.value })}
            />
          </label>
        </div>
        <div class="pair">
          <label class="field">
            <span>After a denial</span>
            <select value={form.after_denial} onChange={(event) => put({ after_denial: event.currentTarget.value })}>
              <option value="reply">The agent is told and goes on</option>
              <option value="wait">The agent waits for a person</option>
            </select>
          </label>
          <label class="field">
            <span>Requests expire after</span>
            <input
              type="number"
              min={1}
              placeholder="never"
              value={form.timeout}
              onInput={(event) => put({ timeout: event.currentTarget.value })}
            />
            <small>Seconds; empty for never</small>
          </label>
        </div>
        <label class="field">
          <span>Folder in which tools work</span>
          <input
            class="code"
            value={form.working_directory}
            onInput={(event) => put({ working_directory: event.currentTarget.value })}
          />
        </label>
        <div class="pair">
          <label class="field">
            <span>Sandbox of programs</span>
            <select value={form.sandbox} onChange={(event) => put({ sandbox: event.currentTarget.value })}>
              <option value="on">On</option>
              <option value="required">Required: nothing runs where a part of it is missing</option>
              <option value="off">Off</option>
            </select>
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={form.network}
              onChange={(event) => put({ network: event.currentTarget.checked })}
            />{" "}
            Programs may use the network
          </label>
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={form.streaming}
            onChange={(event) => put({ streaming: event.currentTarget.checked })}
          />{" "}
          Show replies while they are written
        </label>
      </fieldset>
      <SavingProblem saving={saving} reload={() => void reload()} />
      {mayManage.value && (
        <div class="row end sticky-foot">
          <button type="submit" class="button primary" disabled={isSame || saving.isBusy}>
            {saving.isBusy ? "Saving…" : "Save"}
          </button>
        </div>
      )}
    </form>
  );
}

function fieldsOf(world: World) {
  return {
    name: world.name,
    description: world.description,
    main_agent: world.main_agent ?? "",
    default_model: world.default_model ?? "",
    turn_limit: String(world.turn_limit),
    max_iterations: String(world.max_iterations),
    after_denial: world.after_denial,
    timeout: world.approval_timeout_seconds ? String(world.approval_timeout_seconds) : "",
    working_directory: world.working_directory ?? "",
    sandbox: world.sandbox.mode,
    network: world.sandbox.network,
    streaming: world.streaming,
  };
}

/** Only what differs: changes of different fields never overwrite each other. */
function changes(world: World, form: ReturnType<typeof fieldsOf>): Fields {
  const before = fieldsOf(world);
  const differs = (name: keyof typeof form) => before[name] !== form[name];
  const changed: Fields = {};
  for (const name of ["name", "description", "after_denial", "streaming"] as const)
    if (differs(name)) changed[name] = form[name];
  for (const name of ["main_agent", "default_model", "working_directory"] as const)
    if (differs(name)) changed[name] = form[name].trim() || null;
  for (const name of ["turn_limit", "max_iterations"] as const) if (differs(name)) changed[name] = Number(form[name]);
  if (differs("timeout")) changed["approval_timeout_seconds"] = form.timeout ? Number(form.timeout) : null;
  if (differs("sandbox") || differs("network")) changed["sandbox"] = { mode: form.sandbox, network: form.network };
  return changed;
}
