// Answers what a running tool asks for: field by field where its schema is that simple, otherwise as JSON.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isSame, print, readWritten } from "../api/json";
import type { Approval, Decision, Fields, Json } from "../api/types";
import { reveal } from "../words";
import { useDraft } from "./drafts";
import { wasKey } from "./hand";
import { readArguments } from "./rules";

interface Field {
  name: string;
  title: string;
  type: string;
  choices: Json[] | null;
  isRequired: boolean;
}

interface Props {
  approval: Approval;
  isSent: boolean;
  isArmed: boolean;
  takesClick: () => boolean;
  back: () => void;
  send: (decision: Decision) => void;
}

/** A number as it was written. What a browser takes for one need not be one in JSON. */
function readNumber(text: string): Json {
  try {
    return readWritten(text);
  } catch {
    return Number(text);
  }
}

const MORE = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"];

/** None where the schema is not a flat list of simple values. */
function simpleFields(form: Fields): Field[] | null {
  const schema = form["schema"] as Fields | undefined;
  const properties = schema?.["properties"] as Record<string, Fields> | undefined;
  if (!schema || !properties || MORE.some((word) => word in schema)) return null;
  const required = (schema["required"] as string[] | undefined) ?? [];
  const fields = Object.entries(properties).map(([name, one]): Field | null => {
    const type = one["type"];
    if (typeof type !== "string" || !["string", "integer", "number", "boolean"].includes(type)) return null;
    const choices = Array.isArray(one["enum"]) ? one["enum"] : null;
    const title = [one["title"] ?? name, one["description"]].filter(Boolean).join(": ");
    return { name, title, type, choices, isRequired: required.includes(name) };
  });
  return fields.length > 0 && fields.every((field) => field !== null) ? fields : null;
}

const EMPTY = "{}";

export function FormFields({ approval, isSent, isArmed, takesClick, back, send }: Props) {
  const fields = simpleFields(approval.form ?? {});
  const place = useRef<HTMLFormElement>(null);
  const [text, setText] = useDraft(approval.id, "answer", EMPTY);
  const [problem, setProblem] = useState<string | null>(null);
  // What is typed next is the answer.
  useLayoutEffect(() => place.current?.querySelector<HTMLElement>("input, select, textarea")?.focus(), []);
  const answer = fields ? (readWritten(text) as Fields) : {};
  const put = (name: string, value: Json | undefined) => {
    const { [name]: _before, ...rest } = answer;
    setText(print(value === undefined ? rest : { ...rest, [name]: value }));
  };
  const submit = () => {
    if (fields) return send({ decision: "approve", scope: "once", arguments: answer });
    const read = readArguments(approval, text);
    if ("problem" in read) return setProblem(read.problem);
    send({ decision: "approve", scope: "once", arguments: read.value });
  };
  return (
    <form
      ref={place}
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        // Whoever wrote an answer and pressed Enter has read the question.
        const isMeant = (text !== EMPTY && wasKey()) || takesClick();
        if (isMeant && !isSent) submit();
      }}
    >
      {fields?.map((field) => (
        <One key={field.name} field={field} given={answer[field.name]} put={put} />
      ))}
      {!fields && (
        <label class="field">
          <span>The answer, as JSON that fits</span>
          <textarea class="code" rows={5} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
      )}
      <p class="warn-text small-text">Do not tell a password or a key: the answer goes to the tool and into the log.</p>
      {problem && (
        <p class="bad-text" role="alert">
          {problem}
        </p>
      )}
      <div class="row end">
        <button type="button" class="button" onClick={back}>
          Back
        </button>
        <button type="submit" class="button primary" aria-disabled={!isArmed} disabled={isSent}>
          Send the answer
        </button>
      </div>
    </form>
  );
}

interface OneProps {
  field: Field;
  /** What was answered before the form was closed and opened again. */
  given: Json | undefined;
  put: (name: string, value: Json | undefined) => void;
}

function One({ field, given, put }: OneProps) {
  const label = (
    <span>
      {reveal(field.title)}
      {field.isRequired || field.type === "boolean" ? "" : " (may stay empty)"}
    </span>
  );
  if (field.choices) {
    const pick = (at: number) => put(field.name, at < 0 ? undefined : field.choices?.[at]);
    return (
      <label class="field">
        {label}
        <select required={field.isRequired} onChange={(event) => pick(event.currentTarget.selectedIndex - 1)}>
          <option value="">Choose</option>
          {field.choices.map((choice, at) => (
            <option key={at} selected={given !== undefined && isSame(choice, given)}>
              {typeof choice === "string" ? choice : print(choice)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  if (field.type === "boolean") {
    return (
      <label class="check">
        <input
          type="checkbox"
          defaultChecked={given === true}
          onChange={(event) => put(field.name, event.currentTarget.checked)}
        />{" "}
        {label}
      </label>
    );
  }
  const read = (text: string) => (text === "" ? undefined : field.type === "string" ? text : readNumber(text));
  return (
    <label class="field">
      {label}
      <input
        {...(field.type === "string" ? {} : { type: "number", step: field.type === "integer" ? "1" : "any" })}
        required={field.isRequired}
        defaultValue={typeof given === "string" ? given : given === undefined ? "" : print(given)}
        onInput={(event) => put(field.name, read(event.currentTarget.value))}
      />
    </label>
  );
}
