// Keeps what was meant for something else from deciding. One for the whole inbox: it knows since when every card stands and
// looks as it does, which one has the focus and since when, and whether somebody is in the middle of a text. What somebody
// did not have before their eyes for a moment decides nothing. Pure; told the time.

/** So soon after something changed nobody has read it. */
export const UNREAD = 600;
/** Letters belong to a text until there is a pause. */
export const PAUSE = 700;
/** The same where a field was taken away from somebody who wrote in it: whoever looks at the keys goes on writing. */
export const LONG_PAUSE = 2_000;
/** So long a letter that decides waits for another one, which would make it the beginning of a word. */
export const HOLD = 350;

/** What a letter would do: go to another card, open a question, decide. */
export type Meaning = "nothing" | "goes" | "opens" | "decides";

export interface Letter {
  sign: string;
  meaning: Meaning;
  isRepeat: boolean;
}

/** One that is held is taken when nothing comes in between. */
export type Verdict = "ignored" | "taken" | "held";

/** How a card gets the focus: somebody points at it, or a key or the page itself leads to it. */
type Way = "pointer" | "other";

export class Guard {
  /** Since when each card is as it is. */
  private readonly since = new Map<string, number>();
  private focus: { card: string | null; since: number; by: Way } = { card: null, since: -Infinity, by: "pointer" };
  private wentAt = -Infinity;
  private text = { until: -Infinity, pause: PAUSE };
  private held: { card: string; sign: string; until: number } | null = null;

  /** A card appeared, moved, or looks different. */
  shown(card: string, now: number): void {
    this.since.set(card, now);
    if (this.held?.card === card) this.held = null;
  }

  gone(card: string): void {
    this.since.delete(card);
    if (this.held?.card === card) this.held = null;
  }

  /** Somebody comes back to the window: all cards are seen anew. */
  cameBack(now: number): void {
    for (const card of this.since.keys()) this.since.set(card, now);
    this.held = null;
  }

  focused(card: string | null, by: Way, now: number): void {
    if (card === this.focus.card) return;
    this.focus = { card, since: now, by };
    this.held = null;
    // Whoever points at something is not writing.
    if (by === "pointer") this.text = { until: -Infinity, pause: PAUSE };
  }

  /** The field somebody was writing in is not there any more. */
  lostField(now: number): void {
    this.text = { until: now + LONG_PAUSE, pause: LONG_PAUSE };
    this.held = null;
  }

  hasFocus(card: string): boolean {
    return this.focus.card === card;
  }

  isHeld(card: string): boolean {
    return this.held?.card === card;
  }

  isText(now: number): boolean {
    return now < this.text.until;
  }

  /** Whether clicks on a card count. For the one that has the focus that waits for the keys, too: they press its buttons. */
  isArmed(card: string, now: number): boolean {
    return now >= this.armedAt(card);
  }

  armedAt(card: string): number {
    const seen = (this.since.get(card) ?? Infinity) + UNREAD;
    if (this.focus.card !== card) return seen;
    const focused = this.focus.by === "other" ? this.focus.since + UNREAD : -Infinity;
    return Math.max(seen, focused, this.wentAt + UNREAD, this.text.until);
  }

  /** Judges a letter that was pressed on a card, or outside of all. One that is ignored makes those after it part of a text. */
  letter(card: string | null, letter: Letter, now: number): Verdict {
    if (letter.isRepeat) return "ignored";
    if (this.held) {
      // Pressed twice it means what it meant.
      if (this.held.card === card && this.held.sign === letter.sign) return "ignored";
      return this.write(now);
    }
    if (this.isText(now) || !this.counts(card, letter.meaning, now)) return this.write(now);
    if (letter.meaning === "goes") this.wentAt = now;
    if (letter.meaning !== "decides" || card === null) return "taken";
    this.held = { card, sign: letter.sign, until: now + HOLD };
    return "held";
  }

  /** Whether what was held is to be done now. Says so once. */
  release(card: string, now: number): boolean {
    if (this.held?.card !== card || now < this.held.until) return false;
    this.held = null;
    return true;
  }

  /** Says whether there was anything to take back. */
  takeBack(): boolean {
    const wasHeld = this.held !== null;
    this.held = null;
    return wasHeld;
  }

  private counts(card: string | null, meaning: Meaning, now: number): boolean {
    if (meaning === "nothing") return false;
    if (meaning === "goes") return true;
    const hasFocus = card !== null && this.focus.card === card && now >= this.focus.since + UNREAD;
    return hasFocus && this.isArmed(card, now);
  }

  private write(now: number): Verdict {
    this.held = null;
    const pause = this.isText(now) ? this.text.pause : PAUSE;
    this.text = { until: now + pause, pause };
    return "ignored";
  }
}
