/**
 * Owns how lines of bytes become text. A line may be a piece: long lines are cut anywhere, also within
 * a character, and pieces of two streams may alternate.
 *
 * 1. A character that is cut in two is shown with the piece that completes it. Bytes that are no UTF-8
 *    become U+FFFD. The text of some lines does not depend on where they are cut into frames.
 * 2. With timestamps each line, not each piece, starts with its time (RFC 3339, milliseconds).
 */

export interface TextLine {
  atMs: number;
  stream: string;
  /** With the newline when there was one. */
  bytes: Uint8Array;
}

/** How many lines before a frame are checked for unfinished lines and characters. */
export const lookBackLines = 16;

const newline = 0x0a;
const nothing = Buffer.alloc(0);

/** Joins lines into text. Prime it with the lines before, then add those to show. */
export class LogText {
  readonly #timestamps: boolean;
  /**
   * By stream, there when its last piece did not end the line: the first bytes of a character
   * whose rest is to come.
   */
  readonly #unfinished = new Map<string, Buffer>();
  #chunks: Uint8Array[] = [];
  #stampMs = NaN;
  #stamp = nothing;

  constructor(timestamps: boolean) {
    this.#timestamps = timestamps;
  }

  /** Takes a line before the first one to show, in order. */
  prime(line: TextLine): void {
    this.#complete(line);
  }

  add(line: TextLine): void {
    const begins = this.#unfinished.size === 0 || !this.#unfinished.has(line.stream);
    if (this.#timestamps && begins) this.#chunks.push(this.#stampOf(line.atMs));
    this.#chunks.push(this.#complete(line));
  }

  /** The text of what was added since the last call. */
  take(): string {
    const text = Buffer.concat(this.#chunks).toString('utf8');
    this.#chunks = [];
    return text;
  }

  /**
   * The line with the unfinished bytes of its stream before it, and without those that it leaves
   * unfinished itself.
   */
  #complete(line: TextLine): Uint8Array {
    const carry = this.#unfinished.size === 0 ? undefined : this.#unfinished.get(line.stream);
    const whole =
      carry === undefined || carry.length === 0 ? line.bytes : Buffer.concat([carry, line.bytes]);
    if (whole[whole.length - 1] === newline) {
      if (carry !== undefined) this.#unfinished.delete(line.stream);
      return whole;
    }
    const end = whole.length - incompleteTail(whole);
    this.#unfinished.set(
      line.stream,
      end === whole.length ? nothing : Buffer.from(whole.subarray(end)),
    );
    const shown = whole.subarray(0, end);
    // A character that is cut off for good must not be completed by bytes of another stream.
    return incompleteTail(shown) === 0 ? shown : Buffer.from(shown.toString('utf8'));
  }

  #stampOf(atMs: number): Buffer {
    if (atMs !== this.#stampMs) {
      this.#stampMs = atMs;
      this.#stamp = Buffer.from(`${new Date(atMs).toISOString()} `);
    }
    return this.#stamp;
  }
}

/** How many bytes of an incomplete character stand at the end, 0 to 3. */
export function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return byte <= 0xf4 && byte >= 0xc2 && length > back ? back : 0;
    }
  }
  return 0;
}
