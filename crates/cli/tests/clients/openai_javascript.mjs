// OpenAI's JavaScript library, unchanged, against a server: `node openai_javascript.mjs URL`.

import assert from "node:assert/strict";

import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const url = process.argv[2];
const GATEWAY = "openai/scripted";
const AGENT = "world:lab/ada";
const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The weather in a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "not-asked-for", maxRetries: 0 });

async function creates(model) {
  const response = await client.responses.create({ model, input: "!say hello there" });
  assert.equal(response.output_text, "hello there");
  assert.equal(response.status, "completed");
  assert.ok(response.usage.total_tokens > 0);
}

async function streams(model) {
  const events = [];
  for await (const event of await client.responses.create({ model, input: "!words 20", stream: true })) {
    events.push(event);
  }
  assert.equal(events[0].type, "response.created");
  const last = events.at(-1);
  assert.equal(last.type, "response.completed");
  events.forEach((event, index) => assert.ok(index === 0 || event.sequence_number > events[index - 1].sequence_number));
  const deltas = events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta);
  assert.ok(deltas.length > 1);
  assert.equal(deltas.join(""), last.response.output.at(-1).content[0].text);
  const final = await client.responses.stream({ model, input: "!words 3" }).finalResponse();
  assert.equal(final.output_text, "word0 word1 word2");
}

async function callsTools(model) {
  const input = '!call get_weather {"city":"Oslo"}';
  const first = await client.responses.create({ model, input, tools: [WEATHER] });
  const calls = first.output.filter((item) => item.type === "function_call");
  assert.equal(calls.length, 1);
  assert.deepEqual(JSON.parse(calls[0].arguments), { city: "Oslo" });
  const second = await client.responses.create({
    model,
    previous_response_id: first.id,
    input: [{ type: "function_call_output", call_id: calls[0].call_id, output: "rain" }],
    tools: [WEATHER],
  });
  assert.equal(second.output_text, "done: rain");
}

async function structures() {
  const Person = z.object({ name: z.string(), age: z.number() });
  const response = await client.responses.parse({
    model: GATEWAY,
    input: '!say {"name": "Ada", "age": 36}',
    text: { format: zodTextFormat(Person, "person") },
  });
  assert.deepEqual(response.output_parsed, { name: "Ada", age: 36 });
}

async function remembers(model) {
  const first = await client.responses.create({ model, input: "my name is Ada" });
  const second = await client.responses.create({ model, input: "!say and?", previous_response_id: first.id });
  assert.equal(second.output_text, "and?");
  assert.equal((await client.responses.retrieve(second.id)).id, second.id);
}

async function letsAPersonDecide() {
  const input = '!call shell_cmd {"command":"echo","parameters":["hi"]}';
  const first = await client.responses.create({ model: AGENT, input });
  const requests = first.output.filter((item) => item.type === "mcp_approval_request");
  assert.equal(requests.length, 1);
  assert.equal(requests[0].name, "shell_cmd");
  const second = await client.responses.create({
    model: AGENT,
    previous_response_id: first.id,
    input: [{ type: "mcp_approval_response", approval_request_id: requests[0].id, approve: true }],
  });
  assert.match(second.output_text, /^done: hi/);
}

async function failsWithTypes() {
  const create = (changed) => client.responses.create({ model: GATEWAY, input: "hello", ...changed });
  await assert.rejects(create({ model: "nobody/knows" }), OpenAI.NotFoundError);
  await assert.rejects(create({ input: 7 }), OpenAI.BadRequestError);
  await assert.rejects(create({ input: "!fail 429" }), OpenAI.RateLimitError);
  await assert.rejects(create({ input: "!fail 500" }), OpenAI.InternalServerError);
}

async function listsModels() {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.ok(names.includes("demo/demo") && names.includes(AGENT));
}

const scenes = {
  creates: async () => [await creates(GATEWAY), await creates(AGENT)],
  streams: async () => [await streams(GATEWAY), await streams(AGENT)],
  "calls tools": async () => [await callsTools(GATEWAY), await callsTools(AGENT)],
  structures,
  remembers: async () => [await remembers(GATEWAY), await remembers(AGENT)],
  "lets a person decide": letsAPersonDecide,
  "fails with types": failsWithTypes,
  "lists models": listsModels,
};
for (const [name, scene] of Object.entries(scenes)) {
  await scene();
  console.log("ok", name);
}
