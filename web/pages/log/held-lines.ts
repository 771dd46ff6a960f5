/**
 * Owns the lines of a log that a page holds: those near to what is shown, out of as many as there are.
 *
 * 1. It holds `heldMax` lines and `charsMax` characters at most; the farthest from what is shown go first.
 * 2. A line has one place, its offset. What was not read is undefined, what is gone from the log is null.
 */
export interface Line {
  atMs: number;
  text: string;
}

export interface LogRange {
  generation: string;
  firstOffset: number;
  nextOffset: number;
}

export const heldMax = 100_000;
const charsMax = 32 * 1024 * 1024;
/** Lines that are read, and let go, together. */
export const pageLines = 500;

interface HeldPage {
  lines: (Line | null | undefined)[];
  chars: number;
}

export class HeldLines {
  #range: LogRange | null = null;
  readonly #pages = new Map<number, HeldPage>();
  #chars = 0;

  get range(): LogRange | null {
    return this.#range;
  }

  /** How many lines there is room for in what is held. */
  get held(): number {
    return this.#pages.size * pageLines;
  }

  /** Lines of another generation are forgotten. */
  setRange(range: LogRange | null): void {
    if (range?.generation !== this.#range?.generation) {
      this.#pages.clear();
      this.#chars = 0;
    }
    this.#range = range;
  }

  at(offset: number): Line | null | undefined {
    return this.#pages.get(Math.floor(offset / pageLines))?.lines[offset % pageLines];
  }

  put(offset: number, line: Line | null): void {
    const number = Math.floor(offset / pageLines);
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = { lines: [], chars: 0 };
      this.#pages.set(number, page);
    }
    const chars = (line?.text.length ?? 0) - (page.lines[offset % pageLines]?.text.length ?? 0);
    page.chars += chars;
    this.#chars += chars;
    page.lines[offset % pageLines] = line;
  }

  /** The first line within that was not read, with how many to read from there on; null: all were. */
  missing(from: number, until: number): { from: number; count: number } | null {
    const { firstOffset = 0, nextOffset = 0 } = this.#range ?? {};
    const end = Math.min(until, nextOffset);
    for (let offset = Math.max(from, firstOffset); offset < end; offset++) {
      if (this.at(offset) !== undefined) continue;
      const pageEnd = (Math.floor(offset / pageLines) + 1) * pageLines;
      return { from: offset, count: Math.min(pageEnd, nextOffset) - offset };
    }
    return null;
  }

  /** Lets go what is too much, the farthest from `near` first. */
  trim(near: number): void {
    if (this.held <= heldMax && this.#chars <= charsMax) return;
    const shown = Math.floor(near / pageLines);
    const byDistance = [...this.#pages].sort(
      ([one], [other]) => Math.abs(other - shown) - Math.abs(one - shown),
    );
    for (const [number, page] of byDistance) {
      // Somewhat more goes, so that not every line has to look for what is too much. What is shown stays.
      if (this.held <= heldMax * 0.9 && this.#chars <= charsMax * 0.9) return;
      if (Math.abs(number - shown) <= 1) return;
      this.#pages.delete(number);
      this.#chars -= page.chars;
    }
  }
}
