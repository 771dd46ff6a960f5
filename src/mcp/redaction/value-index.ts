/**
 * Owns finding any of many thousand strings in a text, in one walk over it.
 *
 * 1. Every occurrence is found, also those that overlap (but see `alikeMax`).
 * 2. The work is the length of the text and, for each place where six characters agree, one
 *    comparison with each of the few strings that have them where they were the rarest; a comparison
 *    with a long string costs no more than with a short one.
 *
 * Every fourth character a block of three is looked at. Each string is entered under one window of
 * its six characters, and under the four blocks in it, of which one lies where the walk looks:
 *
 *     text     . . . . s e c r e t . . .
 *     blocks   |_____| |_____| |_____|         at 0, 4, 8: `sec` is the first block of the window
 */
import { formCharsMin, type Form } from './forms.ts';
import type { Span } from './spans.ts';

/** Whether a string of this owner counts now. */
export type Sees = (owner: string) => boolean;

interface Owner {
  readonly owner: string;
  readonly what: string;
}

interface Entry {
  readonly text: string;
  readonly base64: boolean;
  /** Where its window begins. */
  readonly at: number;
  readonly window: number;
  /** Of the whole, once it is needed. */
  hash: number | null;
  readonly owners: Owner[];
}

interface Place {
  at: number;
  window: number;
  /** Entries that have the same window. */
  others: number;
}

const stride = 4;
const windowsTried = 48;
/**
 * Strings entered under one window at most. Only strings made for it, such as `aaaaaaa` in a hundred
 * lengths, come to more; they are left out, so that nobody makes the walk slow for others.
 */
const alikeMax = 32;
/** Longer strings are compared by hash. */
const shortMax = 64;
const blocksMin = 1 << 12;
const blocksMax = 1 << 20;

export class ValueIndex {
  readonly #byText = new Map<string, Entry>();
  readonly #byWindow = new Map<number, Entry[]>();
  readonly #byOwner = new Map<string, Entry[]>();
  readonly #names = new Map<string, number>();
  /** For each hash of a block, at which of the four places of a window it stands: one bit each. */
  #blocks = new Uint8Array(blocksMin);
  #chars = 0;
  #version = 0;

  /** Grows with each change. */
  get version(): number {
    return this.#version;
  }

  /** Characters of all strings. */
  get chars(): number {
    return this.#chars;
  }

  /** Whether any string goes by this name. */
  knows(what: string): boolean {
    return this.#names.has(what);
  }

  add(owner: string, what: string, forms: readonly Form[]): void {
    this.#version++;
    const mine = this.#byOwner.get(owner) ?? [];
    this.#byOwner.set(owner, mine);
    for (const form of forms) {
      const entry = this.#byText.get(form.text) ?? this.#enter(form);
      if (entry === null) continue;
      if (entry.owners.some((one) => one.owner === owner && one.what === what)) continue;
      entry.owners.push({ owner, what });
      mine.push(entry);
      this.#names.set(what, (this.#names.get(what) ?? 0) + 1);
    }
  }

  remove(owner: string): void {
    this.#version++;
    for (const entry of this.#byOwner.get(owner) ?? []) {
      for (let i = entry.owners.length - 1; i >= 0; i--) {
        const one = entry.owners[i];
        if (one?.owner !== owner) continue;
        entry.owners.splice(i, 1);
        this.#forget(one.what);
      }
      if (entry.owners.length === 0) this.#leave(entry);
    }
    this.#byOwner.delete(owner);
  }

  /** Adds to `spans` where the strings of one or two indexes stand in `text`. */
  static find(
    [first, second]: readonly [ValueIndex, ValueIndex?],
    text: string,
    spans: Span[],
    sees?: Sees,
  ): void {
    if (text.length < formCharsMin) return;
    const search = new Search(text, spans, sees);
    if (second === undefined || second.#byText.size === 0) first.#walk(search);
    else if (first.#byText.size === 0) second.#walk(search);
    else first.#walkWith(second, search);
  }

  #walk(search: Search): void {
    if (this.#byText.size === 0) return;
    const { text } = search;
    const blocks = this.#blocks;
    const mask = blocks.length - 1;
    const end = text.length - 2;
    for (let i = 0; i < end; i += stride) {
      const places = blocks[blockHash(text, i) & mask] ?? 0;
      if (places !== 0) this.#look(search, i, places);
    }
  }

  /** In one walk: most of it is to read the text. */
  #walkWith(other: ValueIndex, search: Search): void {
    const { text } = search;
    const [blocks, others] = [this.#blocks, other.#blocks];
    const [mask, othersMask] = [blocks.length - 1, others.length - 1];
    const end = text.length - 2;
    for (let i = 0; i < end; i += stride) {
      const hash = blockHash(text, i);
      const places = blocks[hash & mask] ?? 0;
      if (places !== 0) this.#look(search, i, places);
      const otherPlaces = others[hash & othersMask] ?? 0;
      if (otherPlaces !== 0) other.#look(search, i, otherPlaces);
    }
  }

  #look(search: Search, at: number, places: number): void {
    for (let place = 0; place < stride; place++) {
      const start = at - place;
      if ((places & (1 << place)) === 0 || start < 0) continue;
      if (start + formCharsMin > search.text.length) continue;
      const entries = this.#byWindow.get(windowHash(search.text, start));
      if (entries === undefined) continue;
      for (const entry of entries) search.compare(entry, start - entry.at);
    }
  }

  #enter(form: Form): Entry | null {
    const { at, window, others: count } = this.#rarest(form.text);
    if (count >= alikeMax) return null;
    const entry: Entry = { ...form, at, window, hash: null, owners: [] };
    this.#byText.set(form.text, entry);
    const others = this.#byWindow.get(window);
    if (others === undefined) this.#byWindow.set(window, [entry]);
    else others.push(entry);
    this.#chars += form.text.length;
    const isFull = this.#byText.size * stride * 4 > this.#blocks.length;
    if (isFull && this.#blocks.length < blocksMax) this.#grow();
    else this.#mark(entry);
    return entry;
  }

  #leave(entry: Entry): void {
    this.#byText.delete(entry.text);
    this.#chars -= entry.text.length;
    const others = (this.#byWindow.get(entry.window) ?? []).filter((one) => one !== entry);
    // Its blocks stay marked: they only make the walk look once more.
    if (others.length === 0) this.#byWindow.delete(entry.window);
    else this.#byWindow.set(entry.window, others);
  }

  #forget(what: string): void {
    const count = this.#names.get(what) ?? 0;
    if (count <= 1) this.#names.delete(what);
    else this.#names.set(what, count - 1);
  }

  /** Addresses of one scheme, say, begin alike: a window that few others have tells them apart. */
  #rarest(text: string): Place {
    const last = text.length - formCharsMin;
    const found = this.#rarestOf(text, Math.max(1, Math.floor(last / windowsTried)));
    return found.others < alikeMax ? found : this.#rarestOf(text, 1);
  }

  #rarestOf(text: string, step: number): Place {
    let best: Place = { at: 0, window: 0, others: Infinity };
    for (let at = 0; at <= text.length - formCharsMin && best.others > 0; at += step) {
      const window = windowHash(text, at);
      const others = this.#byWindow.get(window)?.length ?? 0;
      if (others < best.others) best = { at, window, others };
    }
    return best;
  }

  #grow(): void {
    this.#blocks = new Uint8Array(this.#blocks.length * 4);
    for (const entry of this.#byText.values()) this.#mark(entry);
  }

  #mark(entry: Entry): void {
    const mask = this.#blocks.length - 1;
    for (let place = 0; place < stride; place++) {
      const at = blockHash(entry.text, entry.at + place) & mask;
      this.#blocks[at] = (this.#blocks[at] ?? 0) | (1 << place);
    }
  }
}

/** One walk over one text. */
class Search {
  readonly text: string;
  readonly #spans: Span[];
  readonly #sees: Sees | undefined;
  #hashes: PrefixHashes | null = null;

  constructor(text: string, spans: Span[], sees: Sees | undefined) {
    this.text = text;
    this.#spans = spans;
    this.#sees = sees;
  }

  compare(entry: Entry, start: number): void {
    const end = start + entry.text.length;
    if (start < 0 || end > this.text.length || !this.#agrees(entry, start, end)) return;
    const owner = this.#sees
      ? entry.owners.find((one) => this.#sees?.(one.owner))
      : entry.owners[0];
    if (owner === undefined) return;
    const span = { start, end: entry.base64 ? base64End(this.text, end) : end, what: owner.what };
    const last = this.#spans.at(-1);
    // Repeated characters give many that overlap: one span is enough for them.
    if (last?.what === span.what && last.start <= start && start <= last.end) {
      last.end = Math.max(last.end, span.end);
    } else {
      this.#spans.push(span);
    }
  }

  /** Long ones by hash: to take out too much once in billions of times does no harm. */
  #agrees(entry: Entry, start: number, end: number): boolean {
    if (entry.text.length <= shortMax) return this.text.startsWith(entry.text, start);
    this.#hashes ??= new PrefixHashes(this.text);
    entry.hash ??= new PrefixHashes(entry.text).between(0, entry.text.length);
    return entry.hash === this.#hashes.between(start, end);
  }
}

const base = 0x01000193;

/** Hashes of all stretches of a text, each in constant time after one walk. */
class PrefixHashes {
  readonly #sums: Uint32Array;
  readonly #powers: Uint32Array;

  constructor(text: string) {
    const sums = new Uint32Array(text.length + 1);
    const powers = new Uint32Array(text.length + 1);
    let sum = 0;
    let power = 1;
    powers[0] = 1;
    for (let i = 0; i < text.length; i++) {
      sum = (Math.imul(sum, base) + text.charCodeAt(i) + 1) >>> 0;
      power = Math.imul(power, base) >>> 0;
      sums[i + 1] = sum;
      powers[i + 1] = power;
    }
    this.#sums = sums;
    this.#powers = powers;
  }

  between(start: number, end: number): number {
    const before = Math.imul(this.#sums[start] ?? 0, this.#powers[end - start] ?? 0);
    return ((this.#sums[end] ?? 0) - before) >>> 0;
  }
}

function blockHash(text: string, at: number): number {
  return text.charCodeAt(at) + text.charCodeAt(at + 1) * 131 + text.charCodeAt(at + 2) * 17_921;
}

function windowHash(text: string, at: number): number {
  let hash = 0x811c9dc5;
  for (let i = at; i < at + formCharsMin; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash;
}

/** The rest of the last group, and of what was encoded behind it. */
function base64End(text: string, end: number): number {
  let at = end;
  while (at < end + 4 && isBase64(text.charCodeAt(at))) at++;
  return at;
}

function isBase64(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x2b ||
    code === 0x2f ||
    code === 0x2d ||
    code === 0x5f ||
    code === 0x3d
  );
}
