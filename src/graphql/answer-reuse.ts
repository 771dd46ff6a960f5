/**
 * Owns answers that may be given again as they are: to the same principal, for the same request, as
 * long as nothing at all was written since.
 *
 * 1. Everything is forgotten as soon as the journal has a newer position.
 * 2. Bounded by bytes; when they are full everything goes, which the next write would do anyway.
 */

export class AnswerReuse {
  readonly #answers = new Map<string, Uint8Array>();
  readonly #bytesMax: number;
  #bytes = 0;
  #position = -1;

  /** `bytesMax` 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(key: string, position: number): Uint8Array | undefined {
    this.#at(position);
    return this.#answers.get(key);
  }

  /** Keeps an answer that was asked for at `position`; too late, when more was written since. */
  keep(key: string, bytes: Uint8Array, position: number, now: number): void {
    // What one answer may take: a few large ones must not push out all others.
    if (position !== now || bytes.length > this.#bytesMax / 16) return;
    this.#at(now);
    const size = bytes.length + 2 * key.length;
    if (this.#answers.has(key)) return;
    if (this.#bytes + size > this.#bytesMax) this.#forget();
    // A view may hold a whole batch alive.
    this.#answers.set(key, Uint8Array.from(bytes));
    this.#bytes += size;
  }

  #at(position: number): void {
    if (position === this.#position) return;
    this.#position = position;
    if (this.#answers.size > 0) this.#forget();
  }

  #forget(): void {
    this.#answers.clear();
    this.#bytes = 0;
  }
}
