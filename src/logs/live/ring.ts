/**
 * Owns the last lines of a live log in memory, so that viewers that keep up never touch the disk.
 *
 * 1. Its lines are consecutive and end with the newest one.
 * 2. Its memory stays below a bound that counts lines and their bytes. The oldest lines are dropped
 *    first: they are on disk.
 */
import type { LogLine } from '../files/log.ts';

/** About what the objects of a line cost besides its bytes. */
const lineCostBytes = 160;

export class LogRing {
  readonly #maxBytes: number;
  #lines: LogLine[] = [];
  /** Lines before this index are dropped. The array is cut when they are half of it. */
  #head = 0;
  #costBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Offset of its oldest line; Infinity when it holds none. */
  get firstOffset(): number {
    return this.#lines[this.#head]?.offset ?? Infinity;
  }

  push(lines: readonly LogLine[]): void {
    for (const line of lines) {
      this.#lines.push(line);
      this.#costBytes += line.bytes.length + lineCostBytes;
    }
    while (this.#costBytes > this.#maxBytes) {
      const oldest = this.#lines[this.#head];
      if (oldest === undefined) break;
      this.#costBytes -= oldest.bytes.length + lineCostBytes;
      this.#head++;
    }
    if (this.#head > 64 && this.#head * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Lines from an offset that it holds on: at least one line, and about `maxBytes`. */
  slice(from: number, maxBytes: number): LogLine[] {
    const start = this.#head + from - this.firstOffset;
    let end = start;
    for (let left = maxBytes; end < this.#lines.length && (left > 0 || end === start); end++) {
      left -= this.#lines[end]?.bytes.length ?? 0;
    }
    return this.#lines.slice(start, end);
  }

  clear(): void {
    this.#lines = [];
    this.#head = 0;
    this.#costBytes = 0;
  }
}

/** Copies the lines into memory of their own: a ring must not keep the buffers that they came in. */
export function ownLines(lines: readonly LogLine[]): LogLine[] {
  let bytes = 0;
  for (const line of lines) bytes += line.bytes.length;
  const copy = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  return lines.map(({ offset, atMs, stream, bytes: borrowed }) => {
    copy.set(borrowed, at);
    return { offset, atMs, stream, bytes: copy.subarray(at, (at += borrowed.length)) };
  });
}
