/**
 * Owns taking secrets out of what an agent is given.
 *
 * 1. What has nothing to be taken out comes back as the same string, and costs a walk over it; the
 *    same text again costs less still.
 * 2. Doing it twice changes nothing more: what stands between the marks is looked at until nothing
 *    more is found.
 * 3. JSON stays JSON (see `changeStrings`).
 * 4. In one text, or one JSON text, `spansMax` places are looked at one by one; of what has more, the
 *    texts behind are withheld whole. Nobody is shown as many marks, and to make them takes long.
 */
import { isSecretKey, isSecretValue, kindOf } from './assignments.ts';
import { hasBase64Run } from './base64-runs.ts';
import { changeStrings } from './json-strings.ts';
import type { Patterns } from './patterns.ts';
import { betweenMarks, markStart, replaceSpans, type Span } from './spans.ts';
import { type Sees, ValueIndex } from './value-index.ts';

export interface Redaction {
  /** Of plain text. Redact before cutting: half of a value is not found. */
  text(text: string): string;
  /** Of a JSON text, such as the `dataJson` of a reply: string values are looked at, decoded. */
  json(json: string): string;
  /** Of either: as JSON where it is an object or a list, else as plain text. */
  any(text: string): string;
}

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
const withheld = `${markStart}secret]`;
const cleanMax = 8;
const cleanCharsMax = 64 * 1024;

/** The last texts that had nothing in them: the same answer is often given again. */
export class CleanTexts {
  readonly #texts: string[] = [];
  #version = -1;
  #next = 0;

  has(text: string, version: number): boolean {
    return this.#version === version && this.#texts.includes(text);
  }

  add(text: string, version: number): void {
    if (text.length > cleanCharsMax) return;
    if (this.#version !== version) this.#texts.length = this.#next = 0;
    this.#version = version;
    this.#texts[this.#next] = text;
    this.#next = (this.#next + 1) % cleanMax;
  }
}

interface RedactionParts {
  readonly patterns: Patterns;
  /** The same ones as long as `clean` is the same. */
  readonly values: readonly [ValueIndex, ValueIndex?];
  readonly clean: CleanTexts;
  /** Whose values count; default: all. */
  readonly sees?: Sees | undefined;
}

export class ValueRedaction implements Redaction {
  readonly #parts: RedactionParts;
  /** How many more spans are looked at one by one. */
  #spansLeft = spansMax;

  constructor(parts: RedactionParts) {
    this.#parts = parts;
  }

  text(text: string): string {
    this.#spansLeft = spansMax;
    return this.#isClean(text) ? text : this.#text(text);
  }

  json(json: string): string {
    this.#spansLeft = spansMax;
    // What would be found is found in the encoded text, too, unless an escape hides it.
    const isClean = this.#isClean(json);
    const hasKeyLine = hasBase64Run(json, keyLineMin) && keyLineInJson.test(json);
    if (isClean && !hasKeyLine && !json.includes('\\')) return json;
    let pemLines = 0;
    return changeStrings(json, (value, key, escaped) => {
      if (hasKeyLine && isKeyLine(value) && !keyOfCursor.test(key)) {
        return `${markStart}private key]`;
      }
      if (isClean && !escaped) return value;
      if (pemLines > 0) {
        pemLines = value.includes('-----END') ? 0 : pemLines - 1;
        if (pemLine.test(value.trim())) return `${markStart}private key]`;
      }
      if (pemBegins.test(value) && !value.includes('-----END')) pemLines = pemLinesMax;
      if (isSecretKey(key) && isSecretValue(value) && !wholeMark.test(value)) {
        return `${markStart}${kindOf(key)}]`;
      }
      return this.#text(value);
    });
  }

  any(text: string): string {
    return /^[{[]/.test(text) && /[}\]]$/.test(text) && this.#isJson(text)
      ? this.json(text)
      : this.text(text);
  }

  /** Costs the parsing only where something may have to be changed. */
  #isJson(text: string): boolean {
    if (!text.includes('\\') && this.#isClean(text)) return true;
    try {
      JSON.parse(text);
      return true;
    } catch {
      // A log may begin like JSON and be none.
      return false;
    }
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

  /** Whether nothing is to be found in it by anybody; keys and quotes of JSON end what they end. */
  #isClean(text: string): boolean {
    const { patterns, values, clean } = this.#parts;
    // Each grows with its changes, and so does the sum.
    const version = values[0].version + (values[1]?.version ?? 0);
    if (clean.has(text, version)) return true;
    const spans: Span[] = [];
    ValueIndex.find(values, text, spans);
    if (spans.length === 0) patterns.find(text, spans, 0);
    if (spans.length > 0) return false;
    clean.add(text, version);
    return true;
  }

  readonly #isKnown = (what: string): boolean =>
    this.#parts.values.some((index) => index?.knows(what));

  readonly #once = (part: string): string => {
    const { patterns, values, sees } = this.#parts;
    const spans: Span[] = [];
    ValueIndex.find(values, part, spans, sees);
    patterns.find(part, spans, Math.max(0, this.#spansLeft));
    this.#spansLeft -= spans.length;
    if (this.#spansLeft < 0) return spans.length === 0 ? part : withheld;
    return spans.length === 0 ? part : replaceSpans(part, spans);
  };
}

/** Whether a value is a line of a key and nothing else; a digest in hex is none. */
function isKeyLine(value: string): boolean {
  return value.length < 100 && keyLine.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
}
