/**
 * Owns what was written of records before: the JSON of some of their fields, and of lists of them,
 * kept as long as the records themselves stay in memory.
 *
 * 1. A text belongs to records and settings as they are: a record that changes is another object, and has none; with other
 *    settings all texts are forgotten.
 * 2. Bounded by characters; when they are used up all texts are forgotten.
 * 3. Nothing is kept of a run that does not ask for it: a document that never comes again would
 *    leave texts that nobody uses.
 */
import type { GraphqlSettings } from '../context.ts';

/** What a text may depend on besides its record, and nothing of who asks for it. */
export interface RecordRun {
  readonly settings: GraphqlSettings;
  /** Whether what is written is likely to be asked for again. */
  readonly keeps: boolean;
}

export type WriteRecord = (value: unknown, run: RecordRun) => string;

// What an entry takes besides its characters.
const entryChars = 100;
const itemChars = 4;

/** A list, and its text where the list came twice. */
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

  /** `write` that remembers. */
  remember(write: WriteRecord): WriteRecord {
    const kept = this.#map<string>();
    return (value, run) => {
      // What is no object has no text, and cannot be frozen.
      const record = value as object;
      const texts = kept(run);
      const known = texts.get(record);
      if (known !== undefined) return known;
      const text = write(record, run);
      // Records come frozen from the store; what was made for this call alone does not come again.
      if (run.keeps && Object.isFrozen(record)) {
        texts.set(record, this.#inOnePiece(text));
      }
      return text;
    };
  }

  /**
   * The same for lists of records: one is known again by the very records in it, and found by its
   * first. It is looked through each time, which costs a tenth of putting the texts together.
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
      const lists = kept(run);
      const known = lists.get(first);
      const same = known !== undefined && areSame(known.items, items);
      if (same && known.text !== null) return known.text;
      const text = write(value, run);
      if (!same) {
        // A copy: who made the list may go on with it.
        lists.set(first, { items: items.slice(), text: null });
        this.#grow(items.length * itemChars);
      } else if (items.every((item) => Object.isFrozen(item))) {
        known.text = this.#inOnePiece(text);
      }
      return text;
    };
  }

  /** A map that is empty again when all texts are forgotten, and for other settings. */
  #map<T>(): (run: RecordRun) => WeakMap<object, T> {
    let generation = this.#generation;
    let known: GraphqlSettings | null = null;
    let map = new WeakMap<object, T>();
    return ({ settings }) => {
      if (generation !== this.#generation || known !== settings) {
        generation = this.#generation;
        known = settings;
        map = new WeakMap();
      }
      return map;
    };
  }

  /** As it was put together, each use would walk all of its pieces. */
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
