// What one chat looks like at a moment: who said what, which calls were made. Folded from what is loaded and what is heard;
// hearing the same twice changes nothing, so that both may overlap. Its order is the log's; what is still being written comes
// last, since the log has it last. Knows nothing of the page.

import type { Call, Message, News, OutputNews, StreamNews } from "../api/types";
import { begun, blocks, count, isOver, parsed, sketch, type Called, type Entry, type Said } from "./entries";

export { isOver, type Called, type Entry, type Said };

const isBegun = (entry: Entry) => entry.kind === "said" && entry.state === "streaming";

const REQUEST = "client.requestApproval";
/** Characters of a running tool's output that are kept. */
const KEPT = 40_000;

/** Entries in order, and which of them changed since somebody last asked. */
export class Conversation {
  readonly entries = new Map<string, Entry>();
  order: string[] = [];
  private changed = new Set<string>();
  private reordered = false;

  /** What is different since the last time. */
  takeChanges(): { ids: Set<string>; reordered: boolean } {
    const changes = { ids: this.changed, reordered: this.reordered };
    this.changed = new Set();
    this.reordered = false;
    return changes;
  }

  /** False where only the server knows what is left: then all is to be loaded anew. */
  hear(news: News): boolean {
    switch (news.type) {
      case "message":
        this.message(news.data);
        break;
      case "stream":
        this.stream(news.data, news.at);
        break;
      case "tool":
        if ("phase" in news.data) this.output(news.data);
        else this.call(news.data);
        break;
      case "system":
        this.notice(news.data.message_id ?? null, news.data.code);
        break;
      case "crud":
        if (news.data.entity === "message" && news.data.from) return this.cut(news.data.from);
        break;
      default:
    }
    return true;
  }

  /** A message that is stored. `older` ones are put before all others, in the order they come. */
  message(message: Message, into: string[] = this.order): void {
    if (message.role === "tool") {
      if (message.tool_call_id) this.result(message.tool_call_id, message.content);
      return;
    }
    if (message.tool_calls?.some((call) => call.function.name === REQUEST)) return;
    const known = this.entries.get(message.id);
    if (known || message.content !== "" || message.parts?.length) this.said(message, known, into);
    for (const call of message.tool_calls ?? []) {
      if (this.entries.has(call.id)) continue;
      const agent = message.agent_id ?? message.sender;
      this.put(into, sketch(call.id, agent, call.function.name, parsed(call.function.arguments), message.created_at));
    }
  }

  private said(message: Message, known: Entry | undefined, into: string[]): void {
    const before = known?.kind === "said" ? known : undefined;
    const said: Said = {
      kind: "said",
      id: message.id,
      role: message.role,
      sender: message.sender,
      user: message.user ?? null,
      agent: message.agent_id ?? null,
      text: message.content,
      html: message.html ?? null,
      reasoning: before?.reasoning ?? "",
      parts: message.parts ?? [],
      at: message.created_at,
      replyTo: message.reply_to ?? null,
      state: "whole",
      error: null,
      usage: message.usage ?? before?.usage ?? null,
      code: before?.code ?? null,
      heard: 0,
    };
    // A reply that turned out to be calls only, after it had begun, stays where it began; one without a word goes.
    if (before && said.text === "" && said.parts.length === 0 && said.reasoning === "") this.drop(message.id);
    else this.put(into, said);
  }

  /** A call as it is now. What is over stays over, whatever is heard late. */
  call(call: Call): void {
    const known = this.entries.get(call.id);
    const before = known?.kind === "call" ? known : undefined;
    if (before && !before.isSketch && isOver(before.state) && !isOver(call.state)) return;
    const characters = call.result_whole?.["characters"];
    this.put(this.order, {
      kind: "call",
      id: call.id,
      agent: call.agent_id,
      name: call.name,
      arguments: call.arguments,
      state: call.state,
      approval: call.approval_id ?? before?.approval ?? null,
      output: isOver(call.state) ? "" : (before?.output ?? ""),
      result: call.result ?? before?.result ?? null,
      whole: typeof characters === "number" ? characters : null,
      isError: call.is_error,
      details: call.details ?? null,
      startedAt: call.started_at ?? null,
      duration: call.duration_ms ?? null,
      at: call.requested_at,
      isSketch: false,
    });
  }

  private result(id: string, content: string): void {
    const call = this.entries.get(id);
    if (call?.kind !== "call" || call.result !== null) return;
    this.put(this.order, {
      ...call,
      result: content,
      state: isOver(call.state) ? call.state : "completed",
      output: "",
    });
  }

  private stream(stream: StreamNews, at: string): void {
    const known = this.entries.get(stream.message_id);
    const said = known?.kind === "said" ? known : undefined;
    if (stream.phase === "chunk") {
      this.piece(stream, said, at);
    } else if (said && stream.phase === "error" && said.state === "streaming") {
      this.put(this.order, { ...said, state: "broken", error: stream.error ?? "broken off" });
    } else if (said && stream.phase === "end") {
      this.put(this.order, { ...said, usage: stream.usage ?? said.usage });
    }
  }

  private piece(piece: StreamNews, known: Said | undefined, at: string): void {
    if (known && known.state === "whole") return;
    const offset = piece.offset ?? 0;
    const delta = piece.delta ?? "";
    const thought = piece.reasoning_delta ?? "";
    const before = known ?? begun(piece.message_id, piece.agent_id, at ?? "");
    // Whoever joins again while there is only reasoning is told all of that too.
    const again = offset === 0 && before.reasoning !== "" && thought.startsWith(before.reasoning);
    const follows = offset === before.heard && !again;
    // Some were missed, or are heard again: the whole text follows.
    if (!follows && offset !== 0) return;
    const text = follows ? before.text + delta : delta;
    this.put(this.order, {
      ...before,
      state: "streaming",
      error: null,
      text,
      html: blocks(follows ? before.html : null, piece.blocks),
      reasoning: follows ? before.reasoning + thought : thought,
      heard: offset + count(delta),
    });
  }

  private output(output: OutputNews): void {
    const call = this.entries.get(output.id);
    if (call?.kind !== "call" || isOver(call.state)) return;
    const text = call.output + output.delta;
    this.put(this.order, { ...call, state: "executing", output: text.length > KEPT ? text.slice(-KEPT) : text });
  }

  private notice(message: string | null, code: string): void {
    const said = message ? this.entries.get(message) : undefined;
    if (said?.kind === "said" && said.code !== code) this.put(this.order, { ...said, code });
  }

  /** A message and all after it were taken back. Whether it is known what these are. */
  private cut(from: string): boolean {
    const place = this.order.indexOf(from);
    if (place < 0) return false;
    for (const id of this.order.slice(place)) this.entries.delete(id);
    this.order = this.order.slice(0, place);
    this.reordered = true;
    return true;
  }

  /** Puts older messages before those there are. Those that were heard already go where the log has them. */
  precede(messages: Message[]): string[] {
    const before = new Set(this.order);
    const placed = new Set<string>();
    for (const message of messages) {
      this.message(message, []);
      for (const { id } of [message, ...(message.tool_calls ?? [])]) if (this.entries.has(id)) placed.add(id);
    }
    this.order = [...placed, ...this.order.filter((id) => !placed.has(id))];
    if (placed.size > 0) this.reordered = true;
    return [...placed].filter((id) => !before.has(id));
  }

  private put(into: string[], entry: Entry): void {
    const before = this.entries.get(entry.id);
    this.entries.set(entry.id, entry);
    this.changed.add(entry.id);
    // One that was being written has no place in the log before it is whole.
    if (before && (!isBegun(before) || isBegun(entry))) return;
    if (before && into.includes(entry.id)) into.splice(into.indexOf(entry.id), 1);
    into.splice(isBegun(entry) ? into.length : this.stored(into), 0, entry.id);
    this.reordered = true;
  }

  /** Where those end that the log has. */
  private stored(order: readonly string[]): number {
    const isLast = (id: string) => {
      const entry = this.entries.get(id);
      return entry === undefined || !isBegun(entry);
    };
    return order.findLastIndex(isLast) + 1;
  }

  private drop(id: string): void {
    this.entries.delete(id);
    this.order = this.order.filter((one) => one !== id);
    this.reordered = true;
  }
}
