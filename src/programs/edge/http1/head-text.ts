/**
 * Owns the text of a head while it comes, one character a byte.
 *
 * 1. It is bounded, and each byte is looked at once or twice, however they come.
 * 2. What can be no head any more is not waited for.
 */

const bytesMax = 32 * 1024;
/** Most heads are smaller. */
const firstLook = 2048;
const emptyLine = '\r\n\r\n';
const cr = 13;

export type HeadState = 'partial' | 'whole' | 'too-long' | 'malformed';

export class HeadText {
  /** When it is whole: from its first line to the empty one. */
  text = '';
  state: HeadState = 'partial';
  readonly #firstLine: RegExp;
  #hasFirstLine = false;

  /** `firstLine`: what that has to be, with its end. */
  constructor(firstLine: RegExp) {
    this.#firstLine = firstLine;
  }

  clear(): void {
    this.text = '';
    this.state = 'partial';
    this.#hasFirstLine = false;
  }

  /** Reads on from `at`, and returns how far: to the end of the head, or of what is there. */
  read(bytes: Buffer, at: number, end: number): number {
    let next = at;
    const before = this.text.length;
    while (next < end && this.state === 'partial')
      next = this.#look(bytes, next, Math.min(end, next + firstLook));
    if (this.state === 'partial' && !this.#mayBecomeOne(before)) this.state = 'malformed';
    return next;
  }

  #look(bytes: Buffer, at: number, end: number): number {
    const before = this.text.length;
    this.text += bytes.toString('latin1', at, end);
    const found = this.text.indexOf(emptyLine, Math.max(before - 3, 0));
    const length = found === -1 ? this.text.length : found + emptyLine.length;
    if (length > bytesMax) this.state = 'too-long';
    if (found === -1 || this.state !== 'partial') return end;
    this.text = this.text.slice(0, length);
    this.state = 'whole';
    return at + length - before;
  }

  /** By the lines that end behind `from`. */
  #mayBecomeOne(from: number): boolean {
    for (let lf = this.text.indexOf('\n', from); lf !== -1; lf = this.text.indexOf('\n', lf + 1)) {
      if (this.text.charCodeAt(lf - 1) !== cr) return false;
      this.#hasFirstLine ||= this.#firstLine.test(this.text);
      if (!this.#hasFirstLine) return false;
    }
    return true;
  }
}
