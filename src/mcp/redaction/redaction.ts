/**
 * Owns taking secrets out of what an agent is given.
 *
 * 1. What has nothing to be taken out comes back as the same string, and costs one walk over it.
 * 2. Doing it twice changes nothing more: what stands between the marks is looked at until nothing
 *    more is found.
 * 3. JSON stays JSON, with the same structure, keys and numbers.
 * 4. In one text, or one JSON text, `spansMax` places are looked at one by one; of what has more, the
 *    texts behind are withheld whole. Nobody is shown as many marks, and to make them takes long.
 */
import { isSecretKey, isSecretValue, kindOf } from './assignments.ts';
import type { SecretIndex, Sees } from './secret-index.ts';
import { betweenMarks, markOf, replaceSpans } from './spans.ts';

/** Each round takes something out; a text made so that one uncovers the next may need several. */
const roundsMax = 8;
const pemBegins = /-----BEGIN [0-9A-Z ]{0,40}PRIVATE KEY/;
const pemLine = /^(?:\S{1,40}\s)?(?:[0-9A-Za-z+/=]{16,80}|[0-9A-Za-z+/]{2,80}={1,2})$/;
const pemLinesMax = 200;
/** As wide as encoders make the lines of a key: a page of a log may begin in the middle of one. */
const keyLine = /^\s*(?:[0-9A-Za-z+/]{64}|[0-9A-Za-z+/]{70}|[0-9A-Za-z+/]{76})\s*$/;
const longWordInJson = /"\s{0,8}[0-9A-Za-z+/]{64}/;
const keyOfCursor = /cursor$/i;
const wholeMark = /^\[redacted: [a-zA-Z0-9_ ]{1,80}\]$/;
const spansMax = 2_000;
/** Far deeper than any answer. What lies deeper in a text made for it is withheld. */
const levelsMax = 500;
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
    return /^[{[]/.test(text) && /[}\]]$/.test(text) ? this.json(text) : this.text(text);
  }

  /** Of plain text. */
  text(text: string): string {
    this.#spansLeft = spansMax;
    return this.#index.isClean(text) ? text : this.#text(text);
  }

  /** Of a JSON text: string values are looked at, decoded. A log may begin like JSON and be none. */
  json(json: string): string {
    // What would be found is found in the encoded text, too, unless it is hidden there.
    if (this.#index.isClean(json) && !hidesSecrets(json)) return json;
    const value = parsed(json);
    if (value === undefined) return this.text(json);
    this.#spansLeft = spansMax;
    let pemLines = 0;
    const changed = changeStrings(value, '', 0, (text, key) => {
      if (isKeyLine(text) && !keyOfCursor.test(key)) return keyMark;
      if (pemLines > 0) {
        pemLines = text.includes('-----END') ? 0 : pemLines - 1;
        if (pemLine.test(text.trim())) return keyMark;
      }
      if (pemBegins.test(text) && !text.includes('-----END')) pemLines = pemLinesMax;
      if (isSecretKey(key) && isSecretValue(text) && !wholeMark.test(text)) {
        return markOf(kindOf(key));
      }
      return this.#text(text);
    });
    return JSON.stringify(changed);
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

/** Undefined for what is no JSON. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A value of JSON with other strings. `key` is the key that a string, or its list, stands under. */
function changeStrings(
  value: unknown,
  key: string,
  level: number,
  change: (text: string, key: string) => string,
): unknown {
  if (typeof value === 'string') return change(value, key);
  if (typeof value !== 'object' || value === null) return value;
  if (level === levelsMax) return withheld;
  if (Array.isArray(value)) return value.map((one) => changeStrings(one, key, level + 1, change));
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, one]) => [name, changeStrings(one, name, level + 1, change)]),
  );
}

/** Whether strings of a JSON text may hold what is not found in the whole: behind an escape, or for the
 * place of a line. */
function hidesSecrets(json: string): boolean {
  return json.includes('\\') || longWordInJson.test(json);
}

/** Whether a value is a line of a key and nothing else; a digest in hex is none. */
function isKeyLine(value: string): boolean {
  return value.length < 100 && keyLine.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
}
