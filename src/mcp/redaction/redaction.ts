/**
 * Owns taking secrets out of what an agent is given.
 *
 * 1. What has nothing to be taken out comes back as the same string, and costs one walk over it.
 * 2. Doing it twice changes nothing more: what stands between the marks is looked at until nothing
 *    more is found.
 * 3. JSON stays JSON (see `changeStrings`).
 * 4. In one text, or one JSON text, `spansMax` places are looked at one by one; of what has more, the
 *    texts behind are withheld whole. Nobody is shown as many marks, and to make them takes long.
 */
import { isSecretKey, isSecretValue, kindOf } from './assignments.ts';
import { changeStrings } from './json-strings.ts';
import type { SecretIndex, Sees } from './secret-index.ts';
import { betweenMarks, markOf, replaceSpans } from './spans.ts';

/** Each round takes something out; a text made so that one uncovers the next may need several. */
const roundsMax = 8;
const pemBegins = /-----BEGIN [0-9A-Z ]{0,40}PRIVATE KEY/;
const pemLine = /^(?:\S{1,40}\s)?(?:[0-9A-Za-z+/=]{16,80}|[0-9A-Za-z+/]{2,80}={1,2})$/;
const pemLinesMax = 200;
/** As wide as encoders make the lines of a key: a page of a log may begin in the middle of one. */
const keyLine = /^\s*(?:[0-9A-Za-z+/]{64}|[0-9A-Za-z+/]{70}|[0-9A-Za-z+/]{76})\s*$/;
const keyLineInJson =
  /"\s{0,8}(?:[0-9A-Za-z+/]{64}|[0-9A-Za-z+/]{70}|[0-9A-Za-z+/]{76})(?:\s|\\[nrt]){0,8}"/;
const keyLineMin = 64;
const keyOfCursor = /cursor$/i;
const wholeMark = /^\[redacted: [a-zA-Z0-9_ ]{1,80}\]$/;
const spansMax = 2_000;
const withheld = markOf('secret');
const keyMark = markOf('private key');

/** For one caller, and one answer. Redact before cutting: half of a value may not be found. */
export class Redaction {
  readonly #index: SecretIndex;
  /** Whose values count; default: all. */
  readonly #sees: Sees | undefined;
  /** How many more spans are looked at one by one. */
  #spansLeft = spansMax;

  constructor(index: SecretIndex, sees?: Sees) {
    this.#index = index;
    this.#sees = sees;
  }

  /** Of either: as JSON where it is an object or a list, else as plain text. */
  any(text: string): string {
    if (!/^[{[]/.test(text) || !/[}\]]$/.test(text)) return this.text(text);
    // To parse it takes longer than to find nothing.
    if (!hidesSecrets(text) && this.#index.isClean(text)) return text;
    // A log may begin like JSON and be none.
    return isJson(text) ? this.json(text) : this.text(text);
  }

  /** Of plain text. */
  text(text: string): string {
    this.#spansLeft = spansMax;
    return this.#index.isClean(text) ? text : this.#text(text);
  }

  /** Of a JSON text: string values are looked at, decoded. */
  json(json: string): string {
    this.#spansLeft = spansMax;
    // What would be found is found in the encoded text, too, unless an escape hides it.
    const isClean = this.#index.isClean(json);
    if (isClean && !hidesSecrets(json)) return json;
    let pemLines = 0;
    return changeStrings(json, (value, key, isEscaped) => {
      if (isKeyLine(value) && !keyOfCursor.test(key)) return keyMark;
      if (isClean && !isEscaped) return value;
      if (pemLines > 0) {
        pemLines = value.includes('-----END') ? 0 : pemLines - 1;
        if (pemLine.test(value.trim())) return keyMark;
      }
      if (pemBegins.test(value) && !value.includes('-----END')) pemLines = pemLinesMax;
      if (isSecretKey(key) && isSecretValue(value) && !wholeMark.test(value)) {
        return markOf(kindOf(key));
      }
      return this.#text(value);
    });
  }

  #text(text: string): string {
    let before = text;
    for (let round = 0; round < roundsMax; round++) {
      const after = betweenMarks(before, this.#isKnown, this.#once);
      if (after === before) break;
      if (this.#spansLeft < 0) return withheld;
      before = after;
    }
    return before;
  }

  readonly #isKnown = (what: string): boolean => this.#index.knows(what);

  readonly #once = (part: string): string => {
    const spans = this.#index.find(part, this.#sees, Math.max(0, this.#spansLeft));
    this.#spansLeft -= spans.length;
    if (spans.length === 0) return part;
    return this.#spansLeft < 0 ? withheld : replaceSpans(part, spans);
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether strings of a JSON text may hold what is not found in the whole: behind an escape, or for the
 * place of a line. */
function hidesSecrets(json: string): boolean {
  return json.includes('\\') || (hasKeyRun(json) && keyLineInJson.test(json));
}

/** Whether so many letters of base64 stand in a row as a line of a key has. Most texts are looked at in
 * one place of sixty-four. */
function hasKeyRun(text: string): boolean {
  for (let last = keyLineMin - 1; last < text.length;) {
    let before = last;
    while (before > last - keyLineMin && isBase64(text.charCodeAt(before))) before--;
    if (before === last - keyLineMin) return true;
    last = before + keyLineMin;
  }
  return false;
}

function isBase64(code: number): boolean {
  const letter = code | 0x20;
  // Digits, with the slash before them.
  return (letter >= 0x61 && letter <= 0x7a) || (code >= 0x2f && code <= 0x39) || code === 0x2b;
}

/** Whether a value is a line of a key and nothing else; a digest in hex is none. */
function isKeyLine(value: string): boolean {
  return value.length < 100 && keyLine.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
}
