/**
 * Owns texts that were written for records: the JSON of some of their fields, and of lists of them. A text
 * is kept as long as its record stays in memory.
 *
 * 1. A text belongs to one state of a record: a changed record is another object, and has no text yet.
 * 2. The characters are limited; at the limit all texts are forgotten.
 * 3. A run keeps texts only if it asks for that: a document that never comes again would leave texts that
 *    nobody uses.
 */
import type { GraphqlSettings } from '../context.ts';

/** The inputs of a text besides its record. They hold nothing of the caller. */
export interface RecordRun {
  readonly settings: GraphqlSettings;
  /** Whether the text is likely to be needed again. */
  readonly keeps: boolean;
}

export type WriteRecord = (value: unknown, run: RecordRun) => string;

// Memory of an entry besides its characters.
const entryChars = 100;
const itemChars = 4;

/** A list, and its text once the list has come twice. */
interface ListText {
  items: readonly unknown[];
  text: string | null;
}

export class RecordTexts {
  readonly #charsMax: number;
  #chars = 0;
  #generation = 0;

  constructor(charsMax = 16 * 1024 * 1024) {
    this.#charsMax = charsMax;
  }

  /** Wraps `write` so that its texts are remembered. */
  remember(write: WriteRecord): WriteRecord {
    const kept = this.#map<string>();
    return (value, run) => {
      // A value that is no object has no text, and cannot be frozen.
      const record = value as object;
      const texts = kept();
      const known = texts.get(record);
      if (known !== undefined) return known;
      const text = write(record, run);
      // Records come frozen from the store. An object that was made for this call does not come again.
      if (run.keeps && Object.isFrozen(record)) {
        texts.set(record, this.#inOnePiece(text));
      }
      return text;
    };
  }

  /**
   * Wraps `write` for lists of records. A list is found by its first record, and recognised when all its
   * records are the same. That comparison costs a tenth of joining the texts.
   */
  rememberList(write: WriteRecord): WriteRecord {
    const kept = this.#map<ListText>();
    return (value, run) => {
      if (!run.keeps || !Array.isArray(value) || value.length < 2) return write(value, run);
      const items: readonly unknown[] = value;
      const first = items[0] as object | null;
      if (!Object.isFrozen(first) || typeof first !== 'object' || first === null) {
        return write(value, run);
      }
      const lists = kept();
      const known = lists.get(first);
      const same = known !== undefined && areSame(known.items, items);
      if (same && known.text !== null) return known.text;
      const text = write(value, run);
      if (!same) {
        // A copy, because the maker of the list may change it.
        lists.set(first, { items: items.slice(), text: null });
        this.#grow(items.length * itemChars);
      } else if (items.every((item) => Object.isFrozen(item))) {
        known.text = this.#inOnePiece(text);
      }
      return text;
    };
  }

  /** A map that is empty again when all texts are forgotten. */
  #map<T>(): () => WeakMap<object, T> {
    let generation = this.#generation;
    let map = new WeakMap<object, T>();
    return () => {
      if (generation !== this.#generation) {
        generation = this.#generation;
        map = new WeakMap();
      }
      return map;
    };
  }

  /** Copies the text into one piece; otherwise each use would walk all of its parts. */
  #inOnePiece(text: string): string {
    this.#grow(text.length + entryChars);
    return Buffer.from(text).toString();
  }

  #grow(chars: number): void {
    this.#chars += chars;
    if (this.#chars <= this.#charsMax) return;
    this.#chars = 0;
    this.#generation++;
  }
}

function areSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
