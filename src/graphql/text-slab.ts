/**
 * Owns memory that short-lived texts are encoded into, one behind the other: a piece of memory of its
 * own for each would cost more than to write it.
 *
 * 1. What was given is never written again. A piece lives as long as any text in it: copy what is to
 *    be kept.
 */

// As many as a busy turn of the loop answers; longer texts get memory of their own.
const slabBytes = 256 * 1024;
const textBytesMax = slabBytes / 8;
const bytesPerCharMax = 3;

export class TextSlab {
  #slab = Buffer.alloc(0);
  #used = 0;

  /** UTF-8. */
  encode(text: string): Uint8Array {
    const bytesMax = text.length * bytesPerCharMax;
    if (bytesMax > textBytesMax) return Buffer.from(text);
    if (bytesMax > this.#slab.length - this.#used) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += this.#slab.write(text, from);
    return this.#slab.subarray(from, this.#used);
  }
}
