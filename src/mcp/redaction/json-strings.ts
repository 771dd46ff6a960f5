/**
 * Owns changing the strings of a JSON text in place.
 *
 * 1. Valid JSON stays valid, with the same structure, keys and numbers. A string is decoded, changed and
 *    encoded again as a whole. A string that does not change stays byte for byte.
 * 2. One walk. Only strings are parsed.
 */

/** Gives the new value of a string. `key` is the key it stands under, '' in a list. `isEscaped`: its
 * JSON differs from its value. */
type ChangeString = (value: string, key: string, isEscaped: boolean) => string;

export function changeStrings(json: string, change: ChangeString): string {
  let result = '';
  let done = 0;
  let key = '';
  for (let open = json.indexOf('"'); open >= 0;) {
    const end = stringEnd(json, open);
    const next = json.indexOf('"', end);
    if (isKey(json, end)) {
      key = json.slice(open + 1, end - 1);
    } else {
      const inner = json.slice(open + 1, end - 1);
      const isEscaped = inner.includes('\\');
      const value = isEscaped ? decoded(json.slice(open, end), inner) : inner;
      const changed = change(value, key, isEscaped);
      if (changed !== value) {
        result += json.slice(done, open) + JSON.stringify(changed);
        done = end;
      }
      // A key belongs to the next value only: of a list, to its first.
      key = '';
    }
    open = next;
  }
  return done === 0 ? json : result + json.slice(done);
}

/** Behind the quote that closes the string which opens at `open`. */
function stringEnd(json: string, open: number): number {
  for (let at = json.indexOf('"', open + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let escapes = 0;
    while (json.charCodeAt(at - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return json.length;
}

function isKey(json: string, end: number): boolean {
  let at = end;
  while (isBlank(json.charCodeAt(at))) at++;
  return json.charCodeAt(at) === 0x3a;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function decoded(quoted: string, inner: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    // What is no JSON is looked at as it stands.
    return inner;
  }
}
