/**
 * Owns which lines a search is for: those that hold a text, or that an expression matches. A line is looked at
 * as people see it: without its end, and without what a terminal obeys.
 */
import { ServiceError } from '../../lib/errors.ts';
import { Automaton } from './automaton.ts';
import { readExpression } from './expression.ts';
import { programOf } from './program.ts';

export interface Wanted {
  text: string;
  regex: boolean;
  caseSensitive: boolean;
}

export interface Matcher {
  /** False only for bytes that hold no line that matches. */
  mayHold(bytes: Buffer): boolean;
  matches(line: string): boolean;
}

export const wantedMax = 500;

/** Throws BAD_USER_INPUT. It takes at most some 20 ms. */
export function matcherOf({ text, regex, caseSensitive }: Wanted): Matcher {
  if (text === '' || text.length > wantedMax) {
    throw new ServiceError('BAD_USER_INPUT', `text must have 1 to ${wantedMax} characters.`);
  }
  if (!regex) return textMatcher(text, caseSensitive);
  const automaton = new Automaton(programOf(readExpression(text, caseSensitive)));
  return { mayHold: () => true, matches: (line) => automaton.finds(line) };
}

const escapeByte = 0x1b;

function textMatcher(text: string, caseSensitive: boolean): Matcher {
  const fold = (line: string): string => (caseSensitive ? line : line.toLowerCase());
  const sought = fold(text);
  // The bytes of other characters may be cut by what stands around lines; then only lines tell.
  const isAscii = /^[\x20-\x7e]*$/.test(sought);
  return {
    // Colours may stand within the text.
    mayHold: (bytes) =>
      !isAscii || bytes.includes(escapeByte) || fold(bytes.toString('latin1')).includes(sought),
    matches: (line) => fold(line).includes(sought),
  };
}
