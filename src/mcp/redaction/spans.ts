/**
 * Owns the places of secrets in a text, and the marks that replace them.
 *
 * 1. A mark says what was there. It holds no character that JSON would escape.
 * 2. Places that overlap become one mark, named after the longest of them. Nothing is left between two
 *    marks where both places met.
 */

export interface Span {
  start: number;
  end: number;
  /** What stood there: a kind, or `variable <name>`. */
  what: string;
}

/** What may be taken out for its shape alone. */
const kinds = [
  'api token',
  'authorization',
  'connection string',
  'cookie',
  'hook token',
  'link token',
  'password',
  'private key',
  'secret',
  'token',
] as const;
export type Kind = (typeof kinds)[number];

const nameMax = 64;
const markStart = '[redacted: ';
const marks = /\[redacted: ((?:variable [A-Za-z_][A-Za-z0-9_]{0,63})|[a-z ]{1,20})\]/g;
const kindNames: ReadonlySet<string> = new Set(kinds);
const variablePrefix = 'variable ';

/** What a span of a variable's value is called. */
export function variableName(key: string): string {
  return variablePrefix + key.slice(0, nameMax);
}

export function isVariableName(what: string): boolean {
  return what.startsWith(variablePrefix);
}

/** What stands in the place of what was taken out. */
export function markOf(what: string): string {
  return `${markStart}${what}]`;
}

/** `text` without what the spans cover. Sorts the spans. */
export function replaceSpans(text: string, spans: Span[]): string {
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  let result = '';
  let done = 0;
  for (const { start, end, what } of merged(spans)) {
    result += text.slice(done, start) + markOf(what);
    done = end;
  }
  return result + text.slice(done);
}

function merged(sorted: readonly Span[]): Span[] {
  const result: Span[] = [];
  let longest = 0;
  let last: Span | undefined;
  for (const span of sorted) {
    const length = span.end - span.start;
    const joins =
      last !== undefined &&
      (span.start < last.end || (span.start === last.end && span.what === last.what));
    if (last === undefined || !joins) {
      last = { ...span };
      longest = length;
      result.push(last);
      continue;
    }
    last.end = Math.max(last.end, span.end);
    // A variable's name says more than a kind does.
    const says = length === longest && isVariableName(span.what);
    if (length > longest || says) last.what = span.what;
    longest = Math.max(longest, length);
  }
  return result;
}

/**
 * Applies `change` to the text between our own marks, and leaves the marks. `isKnown` says whether a
 * variable of that name (see `variableName`) has a value here: an app could print what only looks like
 * a mark, to hide something in it.
 */
export function betweenMarks(
  text: string,
  isKnown: (what: string) => boolean,
  change: (part: string) => string,
): string {
  if (!text.includes(markStart)) return change(text);
  let result = '';
  let done = 0;
  for (const match of text.matchAll(marks)) {
    const what = match[1] ?? '';
    if (!kindNames.has(what) && !isKnown(what)) continue;
    result += change(text.slice(done, match.index)) + match[0];
    done = match.index + match[0].length;
  }
  return result + change(text.slice(done));
}
