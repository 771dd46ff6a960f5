/** Owns what the structure of a JSON text tells without parsing it. Pure. */

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

export interface JsonBounds {
  depthMax: number;
  membersMax: number;
}

const bodyBounds: JsonBounds = { depthMax: 100, membersMax: 20_000 };

/** What there is too much of in a JSON text, as a sentence; null when it is within the bounds. */
export function excessIn(
  json: Uint8Array,
  { depthMax, membersMax }: JsonBounds = bodyBounds,
): string | null {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (inString) {
      if (byte === backslash) i++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === comma) {
      if (++members > membersMax) return `The body has more than ${membersMax} members.`;
    } else if (byte === openBrace || byte === openBracket) {
      if (++depth > depthMax) return `The body nests deeper than ${depthMax} levels.`;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return null;
}

/**
 * The values that are whole within the first `chars` characters, as JSON: what is open behind the last
 * of them is closed. No value is cut in two, so that what is looked for in a value is found, or the
 * value is not there. `json` is valid, or the start of valid JSON. Null where no value is whole.
 */
export function jsonStart(json: string, chars: number): string | null {
  let inString = false;
  let closers = '';
  // All is whole before a comma: where the last one stands, and what is open there.
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
