/**
 * Owns what was written of records before: the JSON of some of their fields, kept as long as the
 * record itself stays in memory.
 *
 * 1. A text belongs to one record as it is: a record that changes is another object, and has none.
 * 2. Bounded by characters; when they are used up all texts are forgotten.
 */

export type WriteValue<C> = (value: unknown, call: C) => string;

// What an entry takes besides its characters.
const entryChars = 100;

export class RecordTexts {
  readonly #charsMax: number;
  #chars = 0;
  #generation = 0;

  constructor(charsMax = 16 * 1024 * 1024) {
    this.#charsMax = charsMax;
  }

  /** `write` that remembers; what it writes must depend on nothing but the record. */
  remember<C>(write: WriteValue<C>): WriteValue<C> {
    let generation = this.#generation;
    let texts = new WeakMap<object, string>();
    return (value, call) => {
      // What is no object has no text, and cannot be frozen.
      const record = value as object;
      if (generation !== this.#generation) {
        generation = this.#generation;
        texts = new WeakMap();
      }
      const known = texts.get(record);
      if (known !== undefined) return known;
      const text = write(record, call);
      // Records come frozen from the store; what was made for this call alone does not come again.
      if (Object.isFrozen(record)) {
        // In one piece: as it was put together, each use would walk all of its pieces.
        texts.set(record, Buffer.from(text).toString());
        this.#grow(text.length + entryChars);
      }
      return text;
    };
  }

  #grow(chars: number): void {
    this.#chars += chars;
    if (this.#chars <= this.#charsMax) return;
    this.#chars = 0;
    this.#generation++;
  }
}
