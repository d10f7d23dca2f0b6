// What counts as an answer: nothing that somebody did not have before their eyes for a moment, and no part of a text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { draftsOf, forgetDrafts, hasDraft, keepDraft } from "../src/inbox/drafts";
import { Guard, HOLD, LONG_PAUSE, PAUSE, UNREAD, type Meaning, type Verdict } from "../src/inbox/guard";
import { hasMoved, type Place } from "../src/inbox/moves";

const MEANINGS: Record<string, Meaning> = { o: "decides", y: "decides", a: "opens", d: "opens", j: "goes", i: "goes" };

/** A guard with two cards that have been there for long, the first of which has the focus. */
function scene() {
  const guard = new Guard();
  guard.shown("one", 0);
  guard.shown("two", 0);
  guard.focused("one", "other", 0);
  const press = (sign: string, now: number, card: string | null = "one"): Verdict =>
    guard.letter(card, { sign, meaning: MEANINGS[sign] ?? "nothing", isRepeat: false }, now);
  return { guard, press };
}

/** Presses letters one after the other, and says which were not ignored. */
function type(press: (sign: string, now: number) => Verdict, text: string, from: number, pace = 150): string[] {
  return [...text].filter((sign, at) => press(sign, from + at * pace) !== "ignored");
}

test("a card that just appeared or moved takes no answer, neither from keys nor from clicks", () => {
  const { guard, press } = scene();
  assert.equal(guard.isArmed("one", UNREAD - 1), false);
  assert.equal(guard.isArmed("one", UNREAD), true);
  guard.shown("one", 5_000);
  assert.equal(guard.isArmed("one", 5_000 + UNREAD - 1), false);
  assert.equal(guard.isArmed("two", 5_001), true, "the others do");
  assert.equal(press("o", 5_001), "ignored");
  assert.equal(press("o", 5_001 + PAUSE), "held");
  assert.equal(guard.isArmed("three", 9_000), false, "nor does one that is not there");
});

test("one letter alone decides, after a moment, once", () => {
  const { guard, press } = scene();
  assert.equal(press("o", 1_000), "held");
  assert.equal(guard.isHeld("one"), true);
  assert.equal(guard.release("one", 1_000 + HOLD - 1), false);
  assert.equal(press("o", 1_100), "ignored", "pressed twice it is the same");
  assert.equal(guard.release("two", 1_000 + HOLD), false);
  assert.equal(guard.release("one", 1_000 + HOLD), true);
  assert.equal(guard.release("one", 1_000 + HOLD), false);
});

test("the beginning of a text decides nothing", () => {
  for (const text of ["only if", "yes please", "ok", "or not", "you know"]) {
    const { guard, press } = scene();
    assert.deepEqual(type(press, text, 1_000), text.startsWith("o") ? ["o"] : ["y"], text);
    assert.equal(guard.release("one", 9_000), false, text);
  }
});

test("letters in the middle of a text do nothing, whichever card they come to", () => {
  const { guard, press } = scene();
  assert.equal(press("x", 1_000), "ignored");
  assert.equal(press("j", 1_200), "ignored", "not even go to another one");
  guard.focused("two", "other", 1_300);
  assert.equal(press("o", 1_200 + PAUSE - 1, "two"), "ignored");
  assert.equal(press("i", 1_200 + 2 * PAUSE - 2, null), "ignored");
  assert.equal(press("o", 1_200 + 3 * PAUSE, "two"), "held");
});

test("a key that goes to a card is not followed by one that decides it", () => {
  for (const go of ["i", "j"]) {
    const { guard, press } = scene();
    assert.equal(press(go, 5_000), "taken");
    guard.focused("two", "other", 5_010);
    assert.equal(guard.isArmed("two", 5_020), false);
    assert.equal(press("o", 5_300, "two"), "ignored");
    assert.equal(press("a", 5_400, "two"), "ignored");
    assert.equal(press("o", 5_400 + PAUSE, "two"), "held");
  }
  // Also where there is no other to go to.
  const { press } = scene();
  assert.equal(press("j", 5_000), "taken");
  assert.equal(press("o", 5_000 + UNREAD - 1), "ignored");
});

test("one goes from card to card as fast as one likes", () => {
  const { guard, press } = scene();
  for (let time = 5_000; time < 6_000; time += 100) {
    assert.equal(press("j", time), "taken");
    guard.focused(time % 200 ? "one" : "two", "other", time + 1);
  }
});

test("a card that comes under the focus by itself is looked at before it is decided", () => {
  const { guard, press } = scene();
  assert.equal(press("o", 5_000), "held");
  assert.equal(guard.release("one", 5_000 + HOLD), true);
  guard.gone("one");
  guard.focused("two", "other", 5_500);
  assert.equal(press("o", 5_600, "two"), "ignored");
  assert.equal(press("o", 5_700, "two"), "ignored");
  assert.equal(guard.release("two", 9_000), false);
});

test("what changes while a letter is held takes it back", () => {
  const changes: ((guard: Guard) => void)[] = [
    (guard) => guard.shown("one", 1_100),
    (guard) => guard.gone("one"),
    (guard) => guard.cameBack(1_100),
    (guard) => guard.focused("two", "pointer", 1_100),
    (guard) => guard.lostField(1_100),
    (guard) => void guard.takeBack(),
  ];
  for (const change of changes) {
    const { guard, press } = scene();
    assert.equal(press("o", 1_000), "held");
    change(guard);
    assert.equal(guard.release("one", 1_000 + HOLD), false, String(change));
  }
});

test("whoever loses the field they write in decides nothing with what they go on to write", () => {
  const { guard, press } = scene();
  guard.lostField(5_000);
  assert.deepEqual(type(press, "also a good idea, yes", 5_050, 300), []);
  const last = 5_050 + 20 * 300;
  assert.equal(press("o", last + LONG_PAUSE - 1), "ignored", "after a short pause, too");
  assert.equal(press("o", last + 2 * LONG_PAUSE), "held");
});

test("whoever points at a card is not writing any more", () => {
  const { guard, press } = scene();
  guard.lostField(5_000);
  guard.focused("two", "pointer", 5_100);
  assert.equal(guard.isArmed("two", 5_101), true, "a click on it counts at once");
  assert.equal(press("o", 5_200, "two"), "ignored", "a key only when it was looked at");
});

test("a text keeps keys from pressing buttons of the card that has the focus", () => {
  const { guard, press } = scene();
  press("x", 5_000);
  assert.equal(guard.isArmed("one", 5_000 + PAUSE - 1), false);
  assert.equal(guard.isArmed("two", 5_001), true);
});

test("keys count only on the card that has the focus, and not while they are held down", () => {
  const { guard, press } = scene();
  assert.equal(press("o", 5_000, "two"), "ignored");
  assert.equal(press("o", 6_000, null), "ignored");
  assert.equal(guard.letter("one", { sign: "o", meaning: "decides", isRepeat: true }, 9_000), "ignored");
});

test("whoever comes back to the window sees everything anew", () => {
  const { guard } = scene();
  guard.cameBack(5_000);
  assert.deepEqual([guard.isArmed("one", 5_100), guard.isArmed("two", 5_100)], [false, false]);
});

test("cards move when something else than scrolling moves them", () => {
  const place: Place = { left: 10, top: 300, buttons: 500, scrolled: 100, height: 2_000, seen: 800 };
  const to = (change: Partial<Place>) => hasMoved(place, { ...place, ...change });
  assert.equal(to({}), false);
  assert.equal(to({ top: 250, buttons: 450, scrolled: 150 }), false, "somebody scrolls");
  assert.equal(to({ top: 250, buttons: 450, height: 1_950 }), true, "one above became smaller");
  assert.equal(to({ buttons: 540, height: 2_040 }), true, "the card itself grew above its buttons");
  assert.equal(to({ top: 400, buttons: 600, scrolled: 0, height: 1_900 }), true, "the end of the list went away");
  assert.equal(to({ top: 300, buttons: 500, scrolled: 60, height: 1_960 }), false, "the browser made up for it");
  assert.equal(to({ height: 2_300 }), false, "another one came below");
  assert.equal(to({ left: 40 }), true, "something came beside it");
  assert.equal(to({ top: 340, buttons: 540, seen: 760 }), true, "a notice came above the list");
});

test("what was begun is kept until it is sent or discarded", () => {
  keepDraft("apr", "reason", "because");
  keepDraft("apr", "arguments", "{}");
  keepDraft("apr", "reason", null);
  assert.deepEqual(draftsOf("apr"), [{ kind: "arguments", text: "{}" }]);
  assert.deepEqual([hasDraft("apr"), hasDraft("apr", "reason"), hasDraft("other")], [true, false, false]);
  forgetDrafts("apr");
  assert.equal(hasDraft("apr"), false);
});
