/**
 * Owns the guess whether something came before, by a hash of it: most things come once and are not worth
 * keeping. A hash is forgotten when another one takes its place.
 */

const placesMax = 4_096;

export class SeenBefore {
  readonly #hashes = new Int32Array(placesMax);

  /** Whether this hash came lately, and notes that it did. */
  note(hash: number): boolean {
    const at = hash & (placesMax - 1);
    if (this.#hashes[at] === hash) return true;
    this.#hashes[at] = hash;
    return false;
  }
}

/** A hash of all characters. */
export function hashOfText(text: string): number {
  let hash = text.length;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}
