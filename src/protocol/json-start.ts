/** Owns the start of a long JSON text that is JSON itself. Pure. */
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  quote,
} from './json-bytes.ts';

/**
 * What is whole within the first `chars` characters, closed behind it: no value is cut in two, so
 * that what is looked for in values is found or is not there at all. `json` is valid, or the start of
 * what is. Null where nothing in it is whole.
 */
export function jsonStart(json: string, chars: number): string | null {
  let inString = false;
  let closers = '';
  // Before a comma all is whole: the last one seen, and what was open there.
  let end = 0;
  let endClosers = '';
  for (let i = 0; i < chars && i < json.length; i++) {
    const char = json.charCodeAt(i);
    if (inString) {
      if (char === backslash) i++;
      else if (char === quote) inString = false;
    } else if (char === quote) inString = true;
    else if (char === openBrace) closers = `}${closers}`;
    else if (char === openBracket) closers = `]${closers}`;
    else if (char === closeBrace || char === closeBracket) closers = closers.slice(1);
    else if (char === comma) {
      end = i;
      endClosers = closers;
    }
  }
  return end === 0 ? null : json.slice(0, end) + endClosers;
}
