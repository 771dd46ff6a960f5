/** Owns the conditions and the range of a request for bytes that do not change (RFC 9110, 13 and 14). */

/** Bytes `start` to `end`, both included. */
export interface Part {
  start: number;
  end: number;
}

export type WantedBytes = 'all' | 'none' | Part;

/**
 * What a `Range` asks for of so many bytes: `none` where there is nothing of it. Several ranges, other units
 * and what is no range ask for all.
 */
export function wantedBytes(range: string, bytes: number): WantedBytes {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(range) ?? [];
  if (first === '') {
    if (last === '') return 'all';
    const count = Math.min(Number(last), bytes);
    return count === 0 ? 'none' : { start: bytes - count, end: bytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (last !== '' && Number(last) < start) return 'all';
  return start >= bytes ? 'none' : { start, end };
}

/** Whether a `Range` counts: without `If-Range`, or where that is this very tag. */
export function rangeCounts(ifRange: string, etag: string): boolean {
  return ifRange === '' || ifRange === etag;
}

/** Whether `If-Match` lets the request go on: it is absent, or names these very bytes. */
export function mayMatch(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '' || tagsOf(ifMatch).some((one) => one === '*' || one === etag);
}

/** Whether `If-None-Match` says that the client has these bytes. */
export function hasMatch(ifNoneMatch: string, etag: string): boolean {
  return tagsOf(ifNoneMatch)
    .map((one) => one.replace(/^W\//, ''))
    .some((one) => one === '*' || one === etag);
}

function tagsOf(list: string): string[] {
  return list.split(',').map((one) => one.trim());
}
