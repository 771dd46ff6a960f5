/**
 * Owns finding the places where a pattern may begin: one walk over a text for all words that begin
 * one, whatever their case, with two looks for each four characters.
 */

interface Anchor<R> {
  /** At least four ASCII characters. */
  readonly word: string;
  readonly rule: R;
}

interface Block<R> {
  readonly anchor: Anchor<R>;
  /** Where in the word the block stands. */
  readonly at: number;
}

// A word of four has two blocks of three, of which one lies at an even place.
const stride = 2;
const tableSize = 1 << 14;

export class Anchors<R> {
  readonly #table = new Uint8Array(tableSize);
  readonly #blocks = new Map<number, Block<R>[]>();

  constructor(anchors: readonly Anchor<R>[]) {
    for (const anchor of anchors) {
      for (let at = 0; at < stride; at++) {
        const hash = foldedHash(anchor.word, at);
        this.#table[hash] = 1;
        this.#blocks.set(hash, [...(this.#blocks.get(hash) ?? []), { anchor, at }]);
      }
    }
  }

  /** Calls `use` for each word in `text`, in the order of where they stand, give or take one; until it
   * says that it is enough. */
  each(text: string, use: (rule: R, at: number) => boolean): void {
    const table = this.#table;
    const end = text.length - 2;
    for (let i = 0; i < end; i += stride) {
      const hash = foldedHash(text, i);
      if (table[hash] === 0) continue;
      for (const { anchor, at } of this.#blocks.get(hash) ?? []) {
        if (standsAt(text, anchor.word, i - at) && use(anchor.rule, i - at)) return;
      }
    }
  }
}

function foldedHash(text: string, at: number): number {
  const first = text.charCodeAt(at) | 0x20;
  const second = text.charCodeAt(at + 1) | 0x20;
  const third = text.charCodeAt(at + 2) | 0x20;
  return (first + second * 37 + third * 1_369) & (tableSize - 1);
}

function standsAt(text: string, word: string, at: number): boolean {
  if (at < 0 || at + word.length > text.length) return false;
  for (let i = 0; i < word.length; i++) {
    if ((text.charCodeAt(at + i) | 0x20) !== (word.charCodeAt(i) | 0x20)) return false;
  }
  return true;
}
