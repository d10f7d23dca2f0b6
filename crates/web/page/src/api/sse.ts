// Reads the event stream format piece by piece. Knows nothing of what the events say.

export interface Frame {
  id?: string;
  event: string;
  data: string;
}

/** Takes text as it arrives, cut anywhere, and gives every event that is complete. */
export class Frames {
  private rest = "";
  private id: string | undefined;
  private event = "";
  private data: string[] = [];

  take(text: string): Frame[] {
    const frames: Frame[] = [];
    this.rest += text;
    let from = 0;
    for (;;) {
      const end = this.lineEnd(from);
      if (!end) break;
      const frame = this.line(this.rest.slice(from, end.at));
      if (frame) frames.push(frame);
      from = end.next;
    }
    this.rest = this.rest.slice(from);
    return frames;
  }

  private lineEnd(from: number): { at: number; next: number } | undefined {
    for (let at = from; at < this.rest.length; at += 1) {
      const sign = this.rest[at];
      if (sign === "\n") return { at, next: at + 1 };
      if (sign === "\r") {
        // Whether a line feed belongs to it is known with the next character only.
        if (at + 1 >= this.rest.length) return undefined;
        return { at, next: this.rest[at + 1] === "\n" ? at + 2 : at + 1 };
      }
    }
    return undefined;
  }

  private line(line: string): Frame | undefined {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const name = colon < 0 ? line : line.slice(0, colon);
    const raw = colon < 0 ? "" : line.slice(colon + 1);
    const value = raw.startsWith(" ") ? raw.slice(1) : raw;
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id" && !value.includes("\0")) this.id = value;
    return undefined;
  }

  private dispatch(): Frame | undefined {
    const frame: Frame = { event: this.event || "message", data: this.data.join("\n") };
    if (this.id !== undefined) frame.id = this.id;
    const isEmpty = this.data.length === 0;
    this.event = "";
    this.data = [];
    // An id holds for its own event only: pieces of replies have none.
    this.id = undefined;
    return isEmpty ? undefined : frame;
  }
}
