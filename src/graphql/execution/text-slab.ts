/**
 * Owns memory that short-lived texts are encoded into, one behind the other: to write one costs less
 * than a piece of memory of its own, all the more where that memory was never touched before.
 *
 * 1. What was given is never written again, unless it was given back. A piece lives as long as any
 *    text in it: copy what is to be kept.
 */

const slabBytes = 1024 * 1024;
// Longer texts get memory of their own.
const textBytesMax = slabBytes / 2;
const bytesPerCharMax = 3;

export class TextSlab {
  #slab = Buffer.alloc(0);
  #used = 0;
  #lastFrom = 0;
  #last: Uint8Array | null = null;

  /** UTF-8. */
  encode(text: string): Uint8Array {
    const bytesMax = text.length * bytesPerCharMax;
    if (bytesMax > textBytesMax) return Buffer.from(text);
    if (bytesMax > this.#slab.length - this.#used) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    this.#lastFrom = this.#used;
    this.#used += this.#slab.write(text, this.#used);
    return (this.#last = this.#slab.subarray(this.#lastFrom, this.#used));
  }

  /** Takes bytes back that nobody looks at any more, if they are those given last. */
  release(bytes: Uint8Array): void {
    if (bytes !== this.#last) return;
    this.#used = this.#lastFrom;
    this.#last = null;
  }
}
