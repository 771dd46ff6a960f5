/**
 * Owns hashes of short texts for tables in shared memory: one for the place of a key and one to tell
 * keys apart, both made in one pass (mixed as in MurmurHash3). They are seeded, so that nobody can
 * choose keys that collide.
 */
export class KeyHash {
  readonly #seed: number;
  /** Of the key that was hashed last: 32 bits without sign. */
  place = 0;
  /** The same: 32 bits, never 0, which stands for an empty place. */
  tag = 1;

  constructor(seed: number) {
    this.#seed = seed;
  }

  hash(key: string): void {
    let one = this.#seed;
    let other = this.#seed ^ 0x9e3779b9;
    for (let i = 0; i < key.length; i += 1) {
      const unit = key.charCodeAt(i);
      one = Math.imul(one ^ unit, 0xcc9e2d51);
      one = (one << 15) | (one >>> 17);
      other = Math.imul(other ^ unit, 0x85ebca6b);
      other = (other << 13) | (other >>> 19);
    }
    this.place = mixed(one) >>> 0;
    this.tag = mixed(other ^ key.length) || 1;
  }
}

function mixed(hash: number): number {
  let mixing = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35);
  return mixing ^ (mixing >>> 16);
}
