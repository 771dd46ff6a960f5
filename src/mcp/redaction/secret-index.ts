/**
 * Owns finding secrets in a text, in one walk over it: the known values of a team, and everything that
 * the rules know by its shape or its name.
 *
 * 1. Every occurrence of a value is found, also one that overlaps another (but see `alikeMax`).
 * 2. The walk looks at each character once. Only where four characters stand that begin a rule's word,
 *    or stand in a value where they are the rarest, is anything compared; a comparison is short.
 *
 * A long value is entered in pieces of `pieceChars`, and each piece is a secret by itself: a value that
 * a log has cut in two is found as well.
 */
import { assignedSecret, assignmentWords } from './assignments.ts';
import type { Form } from './forms.ts';
import { isVariableName, type Span } from './spans.ts';
import { findAddresses, type Rule, tokenShapes } from './token-shapes.ts';

/** Whether the secrets of this owner count now. */
export type Sees = (owner: string) => boolean;

interface Owner {
  readonly owner: string;
  /** What the mark says in the place of the value. */
  readonly what: string;
}

interface Piece {
  readonly text: string;
  /** See `Form`. */
  readonly base64: boolean;
  /** The four characters it is found by, and where in it they stand. */
  readonly key: number;
  readonly keyAt: number;
  readonly owners: Owner[];
}

interface Search {
  readonly text: string;
  readonly spans: Span[];
  readonly sees: Sees | undefined;
  /** Up to here the rules have found what there is. */
  ruledTo: number;
}

const keyChars = 4;
const pieceChars = 64;
const keysTried = 48;
/**
 * Pieces with one key at most. Only strings made for it, such as `aaaaaaa` in a hundred lengths, come to
 * more; they are left out, so that nobody makes the walk slow for others.
 */
const alikeMax = 32;

const rules = new Map<number, Rule[]>();
for (const { words, rule } of [...tokenShapes, { words: assignmentWords, rule: assignedSecret }]) {
  for (const word of words) {
    const key = keyAt(word, 0);
    const known = rules.get(key) ?? [];
    if (!known.includes(rule)) rules.set(key, [...known, rule]);
  }
}

/** Texts without secrets that are remembered, and the characters of the longest. */
const cleanMax = 8;
const cleanCharsMax = 64 * 1024;

const slotsMin = 1 << 14;
const slotsMax = 1 << 20;
const ruleBit = 1;
const valueBit = 2;

export class SecretIndex {
  readonly #pieces = new Map<string, Piece>();
  readonly #byKey = new Map<number, Piece[]>();
  readonly #byOwner = new Map<string, Piece[]>();
  readonly #names = new Map<string, number>();
  /** For the hash of a key, whether a rule or a value has it. */
  #slots = slotsWith(rules.keys(), ruleBit, new Uint8Array(slotsMin));
  #chars = 0;
  /** The last texts without secrets: many calls give the same answer. */
  #clean: string[] = [];

  /** Characters of all values, in all their forms. */
  get chars(): number {
    return this.#chars;
  }

  /** Whether any value goes by this name. */
  knows(what: string): boolean {
    return this.#names.has(what);
  }

  add(owner: string, what: string, forms: readonly Form[]): void {
    this.#clean = [];
    const own = this.#byOwner.get(owner) ?? [];
    this.#byOwner.set(owner, own);
    for (const form of forms.flatMap(piecesOf)) {
      const piece = this.#pieces.get(form.text) ?? this.#enter(form);
      if (piece === null) continue;
      if (piece.owners.some((known) => known.owner === owner && known.what === what)) continue;
      piece.owners.push({ owner, what });
      own.push(piece);
      this.#names.set(what, (this.#names.get(what) ?? 0) + 1);
    }
  }

  remove(owner: string): void {
    for (const piece of this.#byOwner.get(owner) ?? []) {
      const at = piece.owners.findIndex((known) => known.owner === owner);
      for (const { what } of piece.owners.splice(at, 1)) this.#forgetName(what);
      if (piece.owners.length === 0) this.#leave(piece);
    }
    this.#byOwner.delete(owner);
  }

  /** Whether `text` holds no secret, of whomever. */
  isClean(text: string): boolean {
    if (this.#clean.includes(text)) return true;
    if (this.find(text, undefined, 0).length > 0) return false;
    if (text.length <= cleanCharsMax) this.#clean = [text, ...this.#clean.slice(0, cleanMax - 1)];
    return true;
  }

  /** Where secrets stand in `text`. Stops once they are more than `spansMax`. */
  find(text: string, sees?: Sees, spansMax = Infinity): Span[] {
    const spans: Span[] = [];
    const search: Search = { text, spans, sees, ruledTo: 0 };
    const slots = this.#slots;
    const shift = shiftOf(slots);
    let key = 0;
    for (let i = 0; i < text.length; i++) {
      key = (key << 8) ^ (text.charCodeAt(i) | 0x20);
      const bits = slots[Math.imul(key, spread) >>> shift] ?? 0;
      if (bits === 0 || i < keyChars - 1) continue;
      const at = i - keyChars + 1;
      if ((bits & ruleBit) !== 0 && at >= search.ruledTo) tryRules(search, key, at);
      if ((bits & valueBit) !== 0) this.#tryValues(search, key, at);
      if (spans.length > spansMax) return spans;
    }
    findAddresses(text, spans, spansMax);
    return spans;
  }

  #tryValues(search: Search, key: number, at: number): void {
    for (const piece of this.#byKey.get(key) ?? []) {
      const start = at - piece.keyAt;
      if (start < 0 || !search.text.startsWith(piece.text, start)) continue;
      addValue(search, piece, start);
    }
  }

  #enter({ text, base64 }: Form): Piece | null {
    const place = this.#rarestKey(text);
    const alike = this.#byKey.get(place.key) ?? [];
    if (alike.length >= alikeMax) return null;
    const piece: Piece = { text, base64, ...place, owners: [] };
    this.#pieces.set(text, piece);
    this.#byKey.set(piece.key, [...alike, piece]);
    this.#chars += text.length;
    const isFull = this.#byKey.size * 8 > this.#slots.length;
    if (isFull && this.#slots.length < slotsMax) this.#grow();
    else slotsWith([piece.key], valueBit, this.#slots);
    return piece;
  }

  #leave(piece: Piece): void {
    this.#pieces.delete(piece.text);
    this.#chars -= piece.text.length;
    const others = (this.#byKey.get(piece.key) ?? []).filter((other) => other !== piece);
    // Its slot stays marked: the walk looks there in vain.
    if (others.length === 0) this.#byKey.delete(piece.key);
    else this.#byKey.set(piece.key, others);
  }

  #forgetName(what: string): void {
    const count = this.#names.get(what) ?? 0;
    if (count <= 1) this.#names.delete(what);
    else this.#names.set(what, count - 1);
  }

  /** Addresses of one scheme, say, begin alike: a key that few others have tells them apart. */
  #rarestKey(text: string): { key: number; keyAt: number } {
    const last = text.length - keyChars;
    const step = Math.max(1, Math.floor(last / keysTried));
    let best = { key: 0, keyAt: 0 };
    let fewest = Infinity;
    for (let at = 0; at <= last && fewest > 0; at += step) {
      const key = keyAt(text, at);
      const alike = this.#byKey.get(key)?.length ?? 0;
      if (alike < fewest) [best, fewest] = [{ key, keyAt: at }, alike];
    }
    return best;
  }

  #grow(): void {
    const slots = slotsWith(rules.keys(), ruleBit, new Uint8Array(this.#slots.length * 4));
    this.#slots = slotsWith(this.#byKey.keys(), valueBit, slots);
  }
}

function tryRules(search: Search, key: number, at: number): void {
  for (const rule of rules.get(key) ?? []) {
    const span = rule(search.text, at);
    if (span === null) continue;
    search.spans.push(span);
    // What stands in what was found is taken out with it.
    search.ruledTo = span.end;
    return;
  }
}

function addValue(
  { text, spans, sees }: Search,
  { text: value, base64, owners }: Piece,
  start: number,
) {
  const seen = sees ? owners.filter(({ owner }) => sees(owner)) : owners;
  const what = (seen.find((owner) => isVariableName(owner.what)) ?? seen[0])?.what;
  if (what === undefined) return;
  const end = start + value.length;
  const span = { start, end: base64 ? base64End(text, end) : end, what };
  const last = spans.at(-1);
  // Repeated characters give many that overlap: one span is enough for them.
  if (last?.what === what && last.start <= start && start <= last.end) {
    last.end = Math.max(last.end, span.end);
  } else {
    spans.push(span);
  }
}

function piecesOf(form: Form): Form[] {
  const { text, base64 } = form;
  if (text.length <= pieceChars) return [form];
  const pieces: Form[] = [];
  for (let at = 0; at + pieceChars < text.length; at += pieceChars) {
    pieces.push({ text: text.slice(at, at + pieceChars), base64: false });
  }
  return [...pieces, { text: text.slice(-pieceChars), base64 }];
}

/** Four characters as one number, capitals as small letters. */
function keyAt(text: string, at: number): number {
  let key = 0;
  for (let i = at; i < at + keyChars; i++) key = (key << 8) ^ (text.charCodeAt(i) | 0x20);
  return key;
}

const spread = 0x9e3779b1;

function shiftOf(slots: Uint8Array): number {
  return Math.clz32(slots.length - 1);
}

function slotsWith(keys: Iterable<number>, bit: number, slots: Uint8Array): Uint8Array {
  const shift = shiftOf(slots);
  for (const key of keys) {
    const slot = Math.imul(key, spread) >>> shift;
    slots[slot] = (slots[slot] ?? 0) | bit;
  }
  return slots;
}

/** Behind the rest of the last group, and of what was encoded behind it. */
function base64End(text: string, end: number): number {
  return end + (/^[0-9A-Za-z+/=_-]*/.exec(text.slice(end, end + 4))?.[0].length ?? 0);
}
