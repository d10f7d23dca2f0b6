// JSON to the letter. What tools are given and what rules say is not the page's to change: a number that cannot be held here
// stays as it was written, what a person wrote is sent as they wrote it, and a name that stands twice is refused.

import type { Fields, Json } from "./types";

/** A piece of JSON as it was written. */
export class Source {
  constructor(readonly text: string) {}
}

/** What others wrote and the page only passes on. Elsewhere numbers are the server's own, to be counted with. */
const OTHERS = new Set([
  "arguments",
  "edited_arguments",
  "answer",
  "details",
  "form",
  "granted",
  "matches",
  "policy",
  "rules",
  "schema",
  "suggested_matches",
  "voided",
]);
/** A number that may be another one after it was read and written. Also found in texts, which only costs time. */
const SUSPECT = /(?:^|[:,[])\s*(?:-?\d{16}|-?\d+[.eE]|-0)/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const DEEPEST = 200;

/** What the server sent. With `"all"` no number of it is changed, otherwise none of those that others wrote. */
export function readAnswer(text: string, exact: "all" | "others" = "others"): Json {
  return SUSPECT.test(text) ? new Reader(text, exact).whole() : (JSON.parse(text) as Json);
}

/** What somebody wrote. Throws where it is no JSON, or says one thing twice. */
export function readWritten(text: string): Json {
  return new Reader(text, "all").whole();
}

/** The same again, letter by letter where a browser would have changed something. */
export function print(value: unknown, indent = 0): string {
  return printed(value, indent, "\n") ?? "null";
}

export function isSame(one: unknown, other: unknown): boolean {
  return print(one) === print(other);
}

export function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Source);
}

function printed(value: unknown, indent: number, line: string): string | undefined {
  if (value instanceof Source) return value.text;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = line + " ".repeat(indent);
  const around = (open: string, parts: string[], close: string) => {
    if (parts.length === 0) return open + close;
    return indent === 0 ? open + parts.join(",") + close : open + inner + parts.join(`,${inner}`) + line + close;
  };
  if (Array.isArray(value)) {
    const items = value.map((one) => printed(one, indent, inner) ?? "null");
    return around("[", items, "]");
  }
  const parts = Object.entries(value).flatMap(([name, one]) => {
    const text = printed(one, indent, inner);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${indent === 0 ? "" : " "}${text}`];
  });
  return around("{", parts, "}");
}

class Reader {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly exact: "all" | "others",
  ) {}

  whole(): Json {
    const value = this.value(this.exact === "all", 0);
    this.space();
    if (this.at < this.text.length) this.refuse("something follows after its end");
    return value;
  }

  private value(exact: boolean, depth: number): Json {
    if (depth > DEEPEST) this.refuse("it is nested too deeply");
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object(exact, depth);
      case "[":
        return this.list(exact, depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number(exact);
    }
  }

  private object(exact: boolean, depth: number): Json {
    const fields: Fields = {};
    this.at += 1;
    if (this.skips("}")) return fields;
    do {
      this.space();
      if (this.text[this.at] !== '"') this.refuse("a name in quotes is missing");
      const name = this.string();
      if (Object.hasOwn(fields, name)) this.refuse(`${JSON.stringify(name)} stands there twice`);
      if (!this.skips(":")) this.refuse("a colon is missing");
      const value = this.value(exact || OTHERS.has(name), depth + 1);
      // A plain assignment would not make a field of every name.
      Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
    } while (this.skips(","));
    if (!this.skips("}")) this.refuse("a comma or a closing brace is missing");
    return fields;
  }

  private list(exact: boolean, depth: number): Json {
    const list: Json[] = [];
    this.at += 1;
    if (this.skips("]")) return list;
    do list.push(this.value(exact, depth + 1));
    while (this.skips(","));
    if (!this.skips("]")) this.refuse("a comma or a closing bracket is missing");
    return list;
  }

  private string(): string {
    const from = this.at;
    let end = from;
    let slashes: number;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) this.refuse("a text has no end");
      slashes = 0;
      while (this.text[end - 1 - slashes] === "\\") slashes += 1;
    } while (slashes % 2 === 1);
    this.at = end + 1;
    try {
      return JSON.parse(this.text.slice(from, this.at)) as string;
    } catch {
      this.at = from;
      return this.refuse("a text holds what must be escaped");
    }
  }

  private number(exact: boolean): Json {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text)?.[0];
    if (found === undefined) return this.refuse("a value is missing");
    this.at += found.length;
    const value = Number(found);
    return exact && String(value) !== found ? new Source(found) : value;
  }

  private word(word: string, value: boolean | null): Json {
    if (!this.text.startsWith(word, this.at)) this.refuse("a value is missing");
    this.at += word.length;
    return value;
  }

  private skips(sign: string): boolean {
    this.space();
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  private space(): void {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at += 1;
  }

  private refuse(why: string): never {
    const line = this.text.slice(0, this.at).split("\n").length;
    throw new SyntaxError(`${why} (line ${line})`);
  }
}
