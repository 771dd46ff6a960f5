/**
 * Owns the guess whether something came before, told by a hash of it: most that comes once never
 * comes again, and is not worth keeping. A hash is forgotten when another one takes its place.
 */

const placesMax = 4_096;

export class SeenBefore {
  readonly #hashes = new Int32Array(placesMax);

  /** Whether this hash came lately; from now on it did. */
  note(hash: number): boolean {
    const at = hash & (placesMax - 1);
    if (this.#hashes[at] === hash) return true;
    this.#hashes[at] = hash;
    return false;
  }
}

/** Of all characters. */
export function hashOfText(text: string): number {
  let hash = text.length;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}
