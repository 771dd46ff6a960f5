/**
 * Owns what a `.dockerignore` means: which files of a folder a build is not given, as Docker's own
 * client reads it.
 *
 * 1. Its text is a stranger's: each name costs a look at each character of the patterns for each of
 *    its own at most, and there is a bound on the steps of all names of a build. Nothing of it becomes a
 *    regular expression.
 */
import path from 'node:path';

import { ServiceError } from '../../../lib/errors.ts';

type Token =
  /** One character: that one, any but `/`, or one that the class has. */
  | { kind: 'one'; fits: (char: string) => boolean }
  /** `*`: any number of characters but `/`. */
  | { kind: 'star' }
  /** A `**` with more behind it: any number of whole folders. */
  | { kind: 'folders' }
  /** A `**` at the end. */
  | { kind: 'rest' };

interface Rule {
  isException: boolean;
  /** Null: it says `text` alone. */
  tokens: readonly Token[] | null;
  text: string;
}

/** Far more than thousands of files and a hundred patterns come to; some seconds. */
const stepsMax = 1_000_000_000;

/** Names are given without a leading slash. */
export class DockerIgnore {
  readonly #rules: readonly Rule[];
  /** One step is one token held against one place of a name. */
  #stepsLeft: number;

  /** Throws IMAGE_BUILD_FAILED for a pattern that is none. */
  constructor(text: string, steps = stepsMax) {
    this.#stepsLeft = steps;
    this.#rules = text
      .replace(/^\uFEFF/, '')
      .split('\n')
      .flatMap((line) => (line.startsWith('#') ? [] : ruleOf(line.trim())));
  }

  /** Whether a file or folder is left out, with all that is in it. Throws when it took too much. */
  leavesOut(name: string): boolean {
    let out = false;
    for (const rule of this.#rules) {
      // The last one that fits has it: the others need no look.
      if (rule.isException === out && this.#fits(rule, name)) out = !rule.isException;
    }
    return out && !this.#rules.some((rule) => rule.isException && this.#mayFitBelow(rule, name));
  }

  /** Whether the rule names it, or a folder above it. */
  #fits({ tokens, text }: Rule, name: string): boolean {
    if (tokens === null) return name === text || name.startsWith(`${text}/`);
    const chars = Array.from(name);
    let passed = -1;
    let ends = new Uint8Array();
    for (const places of this.#places(tokens, chars)) {
      ends = places;
      passed++;
    }
    if (passed < tokens.length) return false;
    return ends.some((isEnd, at) => isEnd === 1 && (chars[at] ?? '/') === '/');
  }

  /** Whether the rule may name something in this folder. */
  #mayFitBelow({ tokens, text }: Rule, folder: string): boolean {
    if (tokens === null) return text.startsWith(`${folder}/`);
    for (const places of this.#places(tokens, Array.from(`${folder}/`))) {
      if (places.at(-1) === 1) return true;
    }
    return false;
  }

  /**
   * Which places of a name the pattern may have come to: at its beginning, and behind each token. Ends
   * where it fits no more.
   */
  *#places(
    tokens: readonly Token[],
    chars: readonly string[],
  ): Generator<Uint8Array<ArrayBuffer>, void> {
    let places = new Uint8Array(chars.length + 1);
    places[0] = 1;
    yield places;
    for (const token of tokens) {
      this.#stepsLeft -= places.length;
      if (this.#stepsLeft < 0) throw tooLong();
      places = behind(token, places, chars);
      if (!places.includes(1)) return;
      yield places;
    }
  }
}

/** The places behind a token that begins at one of `places`. */
function behind(
  token: Token,
  places: Uint8Array,
  chars: readonly string[],
): Uint8Array<ArrayBuffer> {
  const found = new Uint8Array(places.length);
  // Whether the token may have begun further ahead, and go on.
  let isOpen = false;
  for (let at = 0; at < places.length; at++) {
    const begins = places[at] === 1;
    const char = chars[at - 1] ?? '';
    let ends: boolean;
    if (token.kind === 'one') {
      ends = isOpen && token.fits(char);
      isOpen = begins;
    } else if (token.kind === 'folders') {
      ends = begins || (isOpen && char === '/');
      isOpen ||= begins;
    } else {
      ends = begins || (isOpen && (token.kind === 'rest' || char !== '/'));
      isOpen = ends;
    }
    if (ends) found[at] = 1;
  }
  return found;
}

function ruleOf(line: string): Rule[] {
  const isException = line.startsWith('!');
  const given = isException ? line.slice(1).trim() : line;
  if (given === '') {
    if (isException) throw bad(line);
    return [];
  }
  const cleaned = path.posix.normalize(given).replace(/(?<=.)\/$/, '');
  const text = cleaned.length > 1 && cleaned.startsWith('/') ? cleaned.slice(1) : cleaned;
  const tokens = /[*?[\\]/.test(text) ? tokensOf(Array.from(text), line) : null;
  return [{ isException, tokens, text }];
}

function tokensOf(chars: readonly string[], line: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at];
    if (char === '*' && chars[at + 1] === '*') {
      at += chars[at + 2] === '/' ? 2 : 1;
      const kind = at + 1 < chars.length ? 'folders' : 'rest';
      // Several are no more than one.
      if (tokens.at(-1)?.kind !== kind) tokens.push({ kind });
    } else if (char === '*') {
      tokens.push({ kind: 'star' });
    } else if (char === '?') {
      tokens.push({ kind: 'one', fits: (one) => one !== '/' });
    } else if (char === '[') {
      const end = classEnd(chars, at + 1);
      if (end === -1) throw bad(line);
      tokens.push({ kind: 'one', fits: classOf(chars.slice(at + 1, end)) });
      at = end;
    } else {
      if (char === '\\') at++;
      const literal = chars[at];
      if (literal === undefined) throw bad(line);
      tokens.push({ kind: 'one', fits: (one) => one === literal });
    }
  }
  return tokens;
}

/** Where a class closes; it holds one character at least. -1: nowhere. */
function classEnd(chars: readonly string[], from: number): number {
  const first = chars[from] === '^' ? from + 1 : from;
  for (let at = first; at < chars.length; at++) {
    if (chars[at] === '\\') at++;
    else if (chars[at] === ']' && at > first) return at;
  }
  return -1;
}

function classOf(inside: readonly string[]): (char: string) => boolean {
  const isNot = inside[0] === '^';
  const chars = inside.slice(isNot ? 1 : 0);
  const ranges: [low: string, high: string][] = [];
  for (let at = 0; at < chars.length; at++) {
    const take = (): string => {
      if (chars[at] === '\\') at++;
      return chars[at] ?? '';
    };
    const low = take();
    if (chars[at + 1] !== '-' || at + 2 >= chars.length) ranges.push([low, low]);
    else {
      at += 2;
      ranges.push([low, take()]);
    }
  }
  return (char) =>
    char !== '/' && ranges.some(([low, high]) => low <= char && char <= high) !== isNot;
}

function tooLong(): ServiceError {
  return new ServiceError(
    'IMAGE_BUILD_FAILED',
    '.dockerignore takes too long: it has too many patterns with ** for so many files.',
  );
}

function bad(line: string): ServiceError {
  return new ServiceError(
    'IMAGE_BUILD_FAILED',
    `.dockerignore has no such pattern: ${line.slice(0, 100)}`,
  );
}
