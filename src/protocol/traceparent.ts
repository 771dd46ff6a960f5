/**
 * Owns what a caller says of the trace its request belongs to: the W3C Trace Context header
 * `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header). Pure.
 *
 * 1. What comes out is lower-case hexadecimal of a fixed length, whatever came in.
 */

export interface TraceParent {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** Of the caller's own step: 16 hexadecimal digits, not all zero. */
  readonly parentId: string;
}

const shape = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;
const versionZeroLength = 55;
const noTrace = '0'.repeat(32);
const noParent = '0'.repeat(16);

/**
 * What a `traceparent` says; null for one that says nothing. Version `ff` is none; version `00` ends
 * behind the flags, later ones may go on behind a hyphen.
 */
export function parseTraceparent(text: string): TraceParent | null {
  if (!shape.test(text)) return null;
  const version = text.slice(0, 2);
  if (version === 'ff' || (version === '00' && text.length > versionZeroLength)) return null;
  const traceId = text.slice(3, 35);
  const parentId = text.slice(36, 52);
  return traceId === noTrace || parentId === noParent ? null : { traceId, parentId };
}
