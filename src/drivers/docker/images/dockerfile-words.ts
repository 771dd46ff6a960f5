/**
 * Owns the words of a Dockerfile's instruction: how builders take quotes, escapes and variables in them.
 *
 * 1. Where builders of several versions differ, or where a value is theirs, all that it may be is
 *    returned: who reads it looks for what must not be there.
 * 2. A text costs no more steps than it was given.
 */
import { ServiceError } from '../../../lib/errors.ts';

/** What builders take for white space: Go's, which has one more than JavaScript's. */
const space = /[\s\u0085]/;

export type Escape = '\\' | '`';

/** All that the variables known so far may be. */
export type Values = ReadonlyMap<string, readonly string[]>;

/** What is needed to fill in a word. */
export interface Knowledge {
  escape: Escape;
  values: Values;
  steps: Steps;
}

/** More ways than anybody writes by hand. */
export const waysMax = 64;
/** Variables within variables grow without end. */
const valueMaxChars = 16 * 1024;
const depthMax = 16;
const plainName = /[A-Za-z_]\w*|[0-9@*#?!-]/;
const bracedName = /\{([A-Za-z_]\w*|[0-9@*#?!-])(:?[-+?]|\})/;

/** What a text may cost whoever reads it. */
export class Steps {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** Throws IMAGE_BUILD_FAILED when there are none left. */
  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw notUnderstood('it is too long');
  }
}

export function notUnderstood(what: string): ServiceError {
  return new ServiceError(
    'IMAGE_BUILD_FAILED',
    `The Dockerfile is not understood: ${what.slice(0, 200)}`,
  );
}

/** The flags behind an instruction's name, without their quotes, and what follows them. */
export function flagsOf(line: string): { flags: string[]; rest: string } {
  const flags: string[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && space.test(line.charAt(at))) at++;
    if (!line.startsWith('--', at)) return { flags, rest: line.slice(at) };
    let word = '';
    let quote = '';
    for (; at < line.length; at++) {
      let char = line.charAt(at);
      if (quote === '' && space.test(char)) break;
      if (char === quote) quote = '';
      else if (quote === '' && (char === '"' || char === "'")) quote = char;
      else {
        // Whatever the file's own escape is, and in any quotes.
        if (char === '\\') char = line.charAt(++at);
        word += char;
      }
    }
    if (word === '--') return { flags, rest: line.slice(at) };
    flags.push(word);
  }
}

/** Split at white space outside quotes, which stay as they are. */
export function wordsOf(line: string, escape: Escape): string[] {
  const words: string[] = [];
  let word = '';
  let quote = '';
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (quote === '' && space.test(char)) {
      if (word !== '') words.push(word);
      word = '';
      continue;
    }
    if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
    word += char;
    if (char === escape && quote !== "'" && at + 1 < line.length) word += line.charAt(++at);
  }
  return word === '' ? words : [...words, word];
}

/** All that a word may come to; null for what is not understood, or has too many ways. */
export function valuesOf(word: string, knowledge: Knowledge): string[] | null {
  return new Filling(word, knowledge).all();
}

class Filling {
  readonly #text: string;
  readonly #escape: Escape;
  readonly #known: Values;
  readonly #steps: Steps;
  #at = 0;
  #depth = 0;

  constructor(text: string, { escape, values, steps }: Knowledge) {
    this.#text = text;
    this.#escape = escape;
    this.#known = values;
    this.#steps = steps;
  }

  all(): string[] | null {
    return this.#until('');
  }

  /** Up to the character that ends it, which is passed; '' is the end of the text. */
  #until(end: string): string[] | null {
    let ways: string[] = [''];
    let quote = '';
    for (;;) {
      if (this.#at >= this.#text.length) return end === '' && quote === '' ? ways : null;
      const char = this.#text.charAt(this.#at++);
      if (char === quote) quote = '';
      else if (quote === '' && char === end) return ways;
      else if (quote === '' && (char === '"' || char === "'")) quote = char;
      else {
        const more = quote === "'" ? [char] : this.#one(char, quote);
        if (more === null) return null;
        this.#steps.take(ways.length * more.length);
        ways = ways.flatMap((way) => more.map((one) => way + one));
        if (ways.length > waysMax || ways.some((way) => way.length > valueMaxChars)) return null;
      }
    }
  }

  #one(char: string, quote: string): string[] | null {
    if (char === this.#escape) {
      const next = this.#text.charAt(this.#at++);
      // In quotes it escapes few characters and else stands for itself.
      return quote === '' || next === '"' || next === '$' || next === char ? [next] : [char + next];
    }
    return char === '$' ? this.#variable() : [char];
  }

  #variable(): string[] | null {
    const plain = this.#match(plainName);
    if (plain !== null) return [...(this.#known.get(plain[0]) ?? [''])];
    if (this.#text.charAt(this.#at) !== '{') return ['$'];
    const head = this.#match(bracedName);
    if (head === null) return null;
    const [, name = '', how = ''] = head;
    const values = [...(this.#known.get(name) ?? [''])];
    if (how === '}') return values;
    if (++this.#depth > depthMax) return null;
    const other = this.#until('}');
    this.#depth--;
    if (other === null) return null;
    if (how.endsWith('?')) return values;
    // What is not known here builders may set by themselves: it may be either.
    if (values.includes('')) return [...new Set([...values, ...other])];
    return how.endsWith('-') ? values : other;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    const sticky = new RegExp(pattern, 'y');
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text);
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}
