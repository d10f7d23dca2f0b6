// The event stream format, cut anywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Frames, type Frame } from "../src/api/sse";

const TEXT =
  'retry: 1000\n\nid: 7\nevent: tool\ndata: {"a":\ndata: 1}\n\n: quiet\n\nevent: stream\r\ndata: x\r\n\r\ndata: last\n\n';
const EXPECTED: Frame[] = [
  { id: "7", event: "tool", data: '{"a":\n1}' },
  { event: "stream", data: "x" },
  { event: "message", data: "last" },
];

test("events are the same however the text is cut", () => {
  for (let size = 1; size <= TEXT.length; size += 1) {
    const frames = new Frames();
    const found: Frame[] = [];
    for (let at = 0; at < TEXT.length; at += size) found.push(...frames.take(TEXT.slice(at, at + size)));
    assert.deepEqual(found, EXPECTED, `in pieces of ${size}`);
  }
});

test("an event without its end is not told", () => {
  const frames = new Frames();
  assert.deepEqual(frames.take("id: 1\ndata: half\n"), []);
  assert.deepEqual(frames.take("\n"), [{ id: "1", event: "message", data: "half" }]);
});
