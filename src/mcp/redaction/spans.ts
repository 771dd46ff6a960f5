/**
 * Owns what is taken out of a text: where it stands, and the mark that takes its place.
 *
 * 1. A mark says what was there and holds no character that JSON would escape.
 * 2. What overlaps is taken out whole, under the name of the longest piece; nothing of it is left
 *    between two marks.
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
 * Applies `change` to what stands between marks that are ours, and leaves the marks. `isKnown` says
 * whether a variable of that name (see `variableName`) has a value here: what merely looks like a
 * mark could be made by an app to say something in it.
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
