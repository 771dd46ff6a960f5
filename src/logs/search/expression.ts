/**
 * Owns reading a regular expression as a tree. It is JavaScript's syntax without what cannot be matched in one
 * pass over a text: no looking ahead or behind, no references to groups.
 *
 * 1. Reading takes time linear in the expression. What is refused is BAD_USER_INPUT with a sentence.
 * 2. Characters are UTF-16 code units, as in an expression without flags.
 */
import { ServiceError } from '../../lib/errors.ts';
import {
  complement,
  digits,
  lineEnds,
  normal,
  type Ranges,
  spaces,
  withCases,
  wordCharacters,
} from './code-units.ts';

export type Expression =
  | { kind: 'units'; ranges: Ranges }
  | { kind: 'sequence'; parts: readonly Expression[] }
  | { kind: 'choice'; options: readonly Expression[] }
  | { kind: 'repeat'; body: Expression; min: number; max: number }
  | { kind: 'place'; place: Place };

export type Place = 'start' | 'end' | 'wordEdge' | 'noWordEdge';

const depthMax = 50;
const countMax = 1_000;

export function refused(sentence: string): ServiceError {
  return new ServiceError('BAD_USER_INPUT', `The expression cannot be used: ${sentence}`);
}

export function readExpression(source: string, caseSensitive: boolean): Expression {
  return new ExpressionReader(source, caseSensitive).read();
}

const escapedSets: Readonly<Record<string, Ranges>> = {
  d: digits,
  D: complement(digits),
  w: wordCharacters,
  W: complement(wordCharacters),
  s: spaces,
  S: complement(spaces),
};

const escapedUnits: Readonly<Record<string, number>> = {
  ...{ n: 0x0a, r: 0x0d, t: 0x09, f: 0x0c, v: 0x0b, 0: 0 },
};

const dash = 0x2d;

function asRanges(member: number | Ranges): Ranges {
  return typeof member === 'number' ? [[member, member]] : member;
}

class ExpressionReader {
  readonly #source: string;
  readonly #caseSensitive: boolean;
  #at = 0;
  #depth = 0;

  constructor(source: string, caseSensitive: boolean) {
    this.#source = source;
    this.#caseSensitive = caseSensitive;
  }

  read(): Expression {
    const whole = this.#choice();
    if (this.#at < this.#source.length) throw refused('a ) has no (.');
    return whole;
  }

  #choice(): Expression {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    return options.length === 1 && options[0] ? options[0] : { kind: 'choice', options };
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#next())) {
      const part = this.#part();
      parts.push(part.kind === 'place' ? part : this.#repeated(part));
    }
    return { kind: 'sequence', parts };
  }

  #part(): Expression {
    const unit = this.#next();
    this.#at++;
    switch (unit) {
      case '(':
        return this.#group();
      case '[':
        return this.#units(this.#unitClass());
      case '.':
        return { kind: 'units', ranges: complement(lineEnds) };
      case '^':
        return { kind: 'place', place: 'start' };
      case '$':
        return { kind: 'place', place: 'end' };
      case '\\':
        return this.#escaped();
      case '*':
      case '+':
      case '?':
        throw refused(`there is nothing that ${unit} could repeat.`);
      default:
        return this.#unit(unit.charCodeAt(0));
    }
  }

  #group(): Expression {
    if (this.#next() === '?') {
      const [opening] = /^\?(?::|<[A-Za-z_$][\w$]*>)/.exec(this.#source.slice(this.#at)) ?? [];
      if (opening === undefined) throw refused('looking ahead or behind is not possible here.');
      this.#at += opening.length;
    }
    if (++this.#depth > depthMax) throw refused(`groups nest deeper than ${depthMax}.`);
    const inner = this.#choice();
    this.#depth--;
    if (!this.#take(')')) throw refused('a ( has no ).');
    return inner;
  }

  #repeated(body: Expression): Expression {
    const times = this.#times();
    if (times === null) return body;
    // Lazy or not, the same texts match.
    this.#take('?');
    if (this.#times() !== null) throw refused('a repetition stands behind another one.');
    return { kind: 'repeat', body, ...times };
  }

  #times(): { min: number; max: number } | null {
    if (this.#take('*')) return { min: 0, max: Infinity };
    if (this.#take('+')) return { min: 1, max: Infinity };
    if (this.#take('?')) return { min: 0, max: 1 };
    const counted = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#source.slice(this.#at));
    // Any other brace stands for itself.
    if (counted === null) return null;
    const [text, least = '', comma, most = ''] = counted;
    this.#at += text.length;
    const min = Number(least);
    const max = comma === undefined ? min : most === '' ? Infinity : Number(most);
    if (min > max) throw refused('the numbers of a repetition are out of order.');
    if (min > countMax || (max > countMax && max !== Infinity)) {
      throw refused(`a repetition counts to ${countMax} at most.`);
    }
    return { min, max };
  }

  #escaped(): Expression {
    const name = this.#next();
    if (name === 'b' || name === 'B') {
      this.#at++;
      return { kind: 'place', place: name === 'b' ? 'wordEdge' : 'noWordEdge' };
    }
    const found = this.#escape();
    return typeof found === 'number' ? this.#unit(found) : this.#units(found);
  }

  /** What stands behind a backslash: a character, or a set of them. */
  #escape(): number | Ranges {
    const name = this.#next();
    if (name === '') throw refused('it ends with a \\.');
    this.#at++;
    const set = Object.hasOwn(escapedSets, name) ? escapedSets[name] : undefined;
    if (set) return set;
    if (name === 'x') return this.#hex(2);
    if (name === 'u') return this.#hex(4);
    if (/[1-9k]/.test(name)) throw refused('references to groups are not possible here.');
    if (Object.hasOwn(escapedUnits, name)) return escapedUnits[name] ?? 0;
    if (/[A-Za-z0-9]/.test(name)) throw refused(`\\${name} is not known.`);
    return name.charCodeAt(0);
  }

  #hex(length: number): number {
    const text = this.#source.slice(this.#at, this.#at + length);
    if (!new RegExp(`^[0-9a-fA-F]{${length}}$`).test(text)) {
      throw refused(`an escape needs ${length} hexadecimal digits.`);
    }
    this.#at += length;
    return Number.parseInt(text, 16);
  }

  #unitClass(): Ranges {
    const isNegated = this.#take('^');
    const ranges: (readonly [number, number])[] = [];
    while (!this.#take(']')) {
      const first = this.#member();
      const isRange = this.#next() === '-' && !['', ']'].includes(this.#source[this.#at + 1] ?? '');
      if (!isRange) {
        ranges.push(...asRanges(first));
        continue;
      }
      this.#at++;
      const last = this.#member();
      if (typeof first !== 'number' || typeof last !== 'number') {
        // Beside a set the dash stands for itself.
        ranges.push(...asRanges(first), ...asRanges(dash), ...asRanges(last));
      } else {
        if (first > last) throw refused('a range in [] is out of order.');
        ranges.push([first, last]);
      }
    }
    const all = this.#caseSensitive ? normal(ranges) : withCases(ranges);
    return isNegated ? complement(all) : all;
  }

  #member(): number | Ranges {
    const unit = this.#next();
    if (unit === '') throw refused('a [ has no ].');
    this.#at++;
    if (unit !== '\\') return unit.charCodeAt(0);
    if (this.#take('b')) return 0x08;
    return this.#take('-') ? dash : this.#escape();
  }

  #unit(unit: number): Expression {
    const ranges: Ranges = [[unit, unit]];
    return this.#units(this.#caseSensitive ? ranges : withCases(ranges));
  }

  #units(ranges: Ranges): Expression {
    return { kind: 'units', ranges };
  }

  #next(): string {
    return this.#source[this.#at] ?? '';
  }

  #take(unit: string): boolean {
    if (this.#next() !== unit) return false;
    this.#at++;
    return true;
  }
}
