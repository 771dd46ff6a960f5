/**
 * Owns bytes of a body that nobody takes yet.
 *
 * 1. They lie in pieces that fill up before there is another: whoever sends them one by one costs no more memory.
 */

/** Of a piece behind the first, which is as large as what came first. */
const [pieceMin, pieceMax] = [1024, 16 * 1024];

export class HeldBody {
  readonly #pieces: Buffer[] = [];
  /** How much of the last piece is used. */
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** They are copied. */
  add(bytes: Buffer, from: number, to: number): void {
    const last = this.#pieces.at(-1);
    const copied = last === undefined ? 0 : bytes.copy(last, this.#used, from, to);
    this.#used += copied;
    this.#length += to - from;
    const left = to - from - copied;
    if (left === 0) return;
    const wanted = last === undefined ? left : Math.max(pieceMin, last.length * 2);
    const piece = Buffer.allocUnsafe(Math.max(left, Math.min(wanted, pieceMax)));
    this.#used = bytes.copy(piece, 0, from + copied, to);
    this.#pieces.push(piece);
  }

  /** Those that came first; undefined: there are none. */
  shift(): Buffer | undefined {
    const piece = this.#pieces.shift();
    if (piece === undefined) return undefined;
    const whole = this.#pieces.length === 0 ? piece.subarray(0, this.#used) : piece;
    this.#length -= whole.length;
    return whole;
  }
}
