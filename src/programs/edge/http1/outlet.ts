/**
 * Owns how a message is written to a connection: what belongs to one turn goes in one call of the kernel.
 *
 * 1. Up to `copiedMax` bytes are copied into a text, and go with the head. More of them are not copied: they must not
 *    change while `holdsBytes`.
 * 2. Text is of one character a byte.
 */
import type { Duplex } from 'node:stream';

export const copiedMax = 16 * 1024;

export class Outlet {
  readonly #stream: Duplex;
  #text = '';
  #isCorked = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
  }

  /** Whether bytes that were given are still to be read, so that they must not change. */
  get holdsBytes(): boolean {
    return this.#stream.writableLength > 0;
  }

  text(text: string): void {
    this.#text += text;
  }

  bytes(bytes: Buffer, from: number, to: number): void {
    if (to - from <= copiedMax) {
      this.#text += bytes.toString('latin1', from, to);
      return;
    }
    if (!this.#isCorked) this.#stream.cork();
    this.#isCorked = true;
    if (this.#text !== '') this.#stream.write(this.#text, 'latin1');
    this.#text = '';
    this.#stream.write(bytes.subarray(from, to));
  }

  /** Sends what is there. False: it is more than the other side takes for now; 'drain' of the stream follows. */
  flush(): boolean {
    if (this.#text !== '') this.#stream.write(this.#text, 'latin1');
    this.#text = '';
    if (this.#isCorked) this.#stream.uncork();
    this.#isCorked = false;
    return !this.#stream.writableNeedDrain;
  }
}
