// A vendor whose replies a test writes: text in pieces as large as it likes, calls of tools, one reply for every question.

import { createServer } from "node:http";

export class Vendor {
  /** `reply(question, write)` gets what the program asked and says what comes back. */
  constructor(reply) {
    this.reply = reply;
    this.asked = 0;
    this.server = createServer((request, response) => {
      let body = "";
      request.on("data", (piece) => (body += piece));
      request.on("end", () => void this.answer(JSON.parse(body), response));
    });
  }

  async start() {
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  async answer(question, response) {
    this.asked += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, end = null) => {
      const choices = [{ index: 0, delta, finish_reason: end }];
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: question.model, choices };
      return new Promise((done) => response.write(`data: ${JSON.stringify(chunk)}\n\n`, done));
    };
    await send({ role: "assistant", content: "" });
    const write = {
      text: (content) => send({ content }),
      /** A text cut into pieces of so many characters. */
      async pieces(text, size) {
        const signs = [...text];
        for (let at = 0; at < signs.length; at += size) await send({ content: signs.slice(at, at + size).join("") });
      },
      call: (name, args, index = 0) =>
        send({
          tool_calls: [
            {
              index,
              id: `call_${this.asked}_${index}`,
              type: "function",
              function: { name, arguments: JSON.stringify(args) },
            },
          ],
        }),
    };
    const end = await this.reply(question, write, this.asked);
    await send({}, end ?? "stop");
    const usage = { prompt_tokens: Math.ceil(JSON.stringify(question.messages).length / 4), completion_tokens: 120 };
    const total_tokens = usage.prompt_tokens + usage.completion_tokens;
    const last = { id: "c", object: "chat.completion.chunk", created: 1, model: question.model, choices: [] };
    response.write(`data: ${JSON.stringify({ ...last, usage: { ...usage, total_tokens } })}\n\n`);
    response.end("data: [DONE]\n\n");
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** What somebody said last to whoever is asked. */
export function lastSaid(question) {
  const last = question.messages.findLast((message) => message.role !== "system");
  return typeof last?.content === "string" ? last.content : JSON.stringify(last?.content ?? "");
}

/** How often a tool has answered since somebody last said something. */
export function answered(question) {
  const since = question.messages.findLastIndex((message) => message.role === "user");
  return question.messages.slice(since + 1).filter((message) => message.role === "tool").length;
}
