// Keeps what was meant for something else from deciding: keys and clicks that come too soon after a card appeared or moved,
// letters in the middle of a text, keys that are held down. Pure; told the time.

/** So soon after a question appeared nobody has read it. */
export const UNREAD = 600;
/** After a letter that is no answer, letters are part of a text until there is a pause. */
export const PAUSE = 700;

export class Guard {
  private since: number;
  private stray = -Infinity;

  constructor(now: number) {
    this.since = now;
  }

  /** It stands somewhere else now, or looks different. */
  shownAgain(now: number): void {
    this.since = now;
  }

  isArmed(now: number): boolean {
    return now - this.since >= UNREAD && now - this.stray >= PAUSE;
  }

  armedAt(): number {
    return Math.max(this.since + UNREAD, this.stray + PAUSE);
  }

  /** Whether a letter may be an answer. One that may not, or that means nothing, makes those after it part of a text. */
  takes(letter: { isRepeat: boolean; means: boolean }, now: number): boolean {
    if (letter.isRepeat) return false;
    if (!this.isArmed(now)) {
      this.stray = now;
      return false;
    }
    if (!letter.means) this.stray = now;
    return letter.means;
  }
}
