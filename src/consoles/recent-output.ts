/** Owns the last bytes of a console's output, for a viewer that comes back. */

/** Bytes that continue a character of UTF-8. */
const continuation = { mask: 0xc0, value: 0x80 };
const continuationsMax = 3;

export class RecentOutput {
  readonly #maxBytes: number;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #cut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes a chunk that does not change any more. */
  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      const surplus = this.#bytes - this.#maxBytes;
      if (surplus <= 0) return;
      this.#cut = true;
      const dropped = Math.min(surplus, first.length);
      this.#bytes -= dropped;
      // Only the first chunk is cut; small chunks are dropped whole.
      if (dropped === first.length) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(dropped);
    }
  }

  /** What is kept; it begins between two characters. */
  bytes(): Uint8Array {
    const all = Buffer.concat(this.#chunks);
    if (!this.#cut) return all;
    let start = 0;
    while (start < continuationsMax && isContinuation(all[start])) start++;
    return all.subarray(start);
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & continuation.mask) === continuation.value;
}
