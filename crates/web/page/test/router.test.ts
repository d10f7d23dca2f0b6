// Addresses and views are the same thing said twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { href, parse } from "../src/router";

test("every address leads to its view and back", () => {
  const addresses = [
    "/",
    "/inbox",
    "/inbox/apr_1",
    "/worlds",
    "/w/demo",
    "/w/demo/c/chat_1",
    "/w/demo/c/chat_1/m/msg_1",
    "/w/demo/settings",
    "/w/demo/history",
    "/audit",
    "/stats",
    "/sign-in",
    "/w/a%2Fb/c/chat_1",
  ];
  for (const address of addresses) {
    const route = parse(address);
    assert.notEqual(route.view, "unknown", address);
    assert.equal(href(route), address);
  }
});

test("what is no address is said to be unknown", () => {
  for (const address of ["/x", "/w", "/w/demo/c", "/w/demo/c/chat_1/m", "/inbox/a/b", "/worlds/1", "/%E0%A4%A"]) {
    assert.equal(parse(address).view, "unknown", address);
  }
});
