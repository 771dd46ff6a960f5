/**
 * Owns what a `.dockerignore` means: which files of a folder a build is not given, as Docker's own
 * client reads it.
 *
 * 1. Its text is a stranger's: each name costs a look at each character of the patterns for each of
 *    its own at most, and all names of a build no more steps than one may have. Nothing of it becomes
 *    a regular expression.
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
  run: Run | null;
  text: string;
}

/** Far more than thousands of files and a hundred patterns come to; some seconds. */
const stepsMax = 1_000_000_000;

/** Names are given without a leading slash. */
export class DockerIgnore {
  readonly #rules: readonly Rule[];
  /** One step is one way of one pattern along one character. */
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
      if (rule.isException === out && this.#count(fits(rule, name), rule)) out = !rule.isException;
    }
    return (
      out &&
      !this.#rules.some((rule) => rule.isException && this.#count(mayFitBelow(rule, name), rule))
    );
  }

  #count(outcome: boolean, { run }: Rule): boolean {
    this.#stepsLeft -= run?.steps ?? 1;
    if (this.#stepsLeft >= 0) return outcome;
    throw new ServiceError(
      'IMAGE_BUILD_FAILED',
      '.dockerignore takes too long: it has too many patterns with ** for so many files.',
    );
  }
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
  const run = /[*?[\\]/.test(text) ? new Run(tokensOf(Array.from(text), line)) : null;
  return [{ isException, run, text }];
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

/** Whether the rule names it, or a folder above it. */
function fits({ run, text }: Rule, name: string): boolean {
  if (run === null) return name === text || name.startsWith(`${text}/`);
  run.begin();
  for (const char of name) {
    if (char === '/' && run.isThrough) return true;
    if (!run.step(char)) return false;
  }
  return run.isThrough;
}

/** Whether the rule may name something in this folder. */
function mayFitBelow({ run, text }: Rule, folder: string): boolean {
  if (run === null) return text.startsWith(`${folder}/`);
  run.begin();
  for (const char of folder) if (!run.step(char)) return false;
  return run.step('/');
}

/**
 * All the ways a pattern may be followed along a name, at once. A place is twice the number of the
 * token that comes next; one more: within a folder that this token passes over.
 */
class Run {
  readonly #tokens: readonly Token[];
  #here: Int32Array;
  #next: Int32Array;
  #count = 0;
  #nextCount = 0;
  /** The step in which a place was last taken. */
  readonly #takenIn: Uint32Array;
  #steps = 0;
  /** How many ways were followed along how many characters of the last name. */
  steps = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
    const places = 2 * (tokens.length + 1);
    this.#here = new Int32Array(places);
    this.#next = new Int32Array(places);
    this.#takenIn = new Uint32Array(places);
  }

  /** To the beginning of another name. */
  begin(): void {
    this.#steps += 1;
    this.steps = 0;
    this.#nextCount = 0;
    this.#enter(0);
    this.#swap();
  }

  /** Whether what came so far is what the pattern says. */
  get isThrough(): boolean {
    return this.#takenIn[2 * this.#tokens.length] === this.#steps;
  }

  /** Takes one more character; false: no name that begins so fits. */
  step(char: string): boolean {
    this.#steps += 1;
    this.steps += this.#count + 1;
    this.#nextCount = 0;
    for (let i = 0; i < this.#count; i++) {
      const at = (this.#here[i] ?? 0) >> 1;
      const token = this.#tokens[at];
      switch (token?.kind) {
        case 'one':
          if (token.fits(char)) this.#enter(at + 1);
          break;
        case 'star':
          if (char !== '/') this.#enter(at);
          break;
        case 'folders':
          // The folder has to end before the pattern goes on.
          this.#take(2 * at + 1);
          if (char === '/') this.#enter(at + 1);
          break;
        case 'rest':
          this.#enter(at);
          break;
        case undefined:
      }
    }
    this.#swap();
    return this.#count > 0;
  }

  /** With what may be left out from there, which is taken already where the place is. */
  #enter(token: number): void {
    for (let at = token; this.#take(2 * at); at++) {
      const kind = this.#tokens[at]?.kind;
      if (kind === undefined || kind === 'one') return;
    }
  }

  #take(place: number): boolean {
    if (this.#takenIn[place] === this.#steps) return false;
    this.#takenIn[place] = this.#steps;
    this.#next[this.#nextCount++] = place;
    return true;
  }

  #swap(): void {
    [this.#here, this.#next] = [this.#next, this.#here];
    this.#count = this.#nextCount;
  }
}

function bad(line: string): ServiceError {
  return new ServiceError(
    'IMAGE_BUILD_FAILED',
    `.dockerignore has no such pattern: ${line.slice(0, 100)}`,
  );
}
