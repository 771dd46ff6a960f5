/**
 * Owns the rules of request framing that the HTTP library does not enforce. The end of a body must be
 * unambiguous: otherwise a proxy in front of us could see other requests than we do (RFC 9112, 6 and
 * 11.2).
 *
 * 1. One Content-Length at most, of digits only; also two equal ones are refused.
 * 2. A Transfer-Encoding is exactly one `chunked`, and excludes Content-Length.
 * 3. One Host (RFC 9112, 3.2).
 */

export type Framing =
  | { kind: 'none' }
  | { kind: 'length'; bytes: number }
  | { kind: 'chunked' }
  | { kind: 'refused'; detail: string };

const none: Framing = { kind: 'none' };
const chunked: Framing = { kind: 'chunked' };

/** Takes all values of Content-Length and Transfer-Encoding, and the number of Host fields. */
export function readFraming(
  lengths: readonly string[],
  encodings: readonly string[],
  hosts: number,
): Framing {
  if (hosts !== 1) return refused('The request must have exactly one Host header.');
  if (lengths.length > 1) return refused('The request has more than one Content-Length header.');
  const [encoding] = encodings;
  const [length] = lengths;
  if (encoding !== undefined) {
    if (encodings.length > 1 || encoding.toLowerCase() !== 'chunked') {
      return refused('The only Transfer-Encoding understood is a single "chunked".');
    }
    if (length !== undefined) {
      return refused('The request has both Content-Length and Transfer-Encoding.');
    }
    return chunked;
  }
  if (length === undefined) return none;
  // A number holds 15 digits exactly, and that is far above every limit on bodies.
  if (!/^\d{1,15}$/.test(length)) return refused('The Content-Length header is not a number.');
  const bytes = Number(length);
  return bytes === 0 ? none : { kind: 'length', bytes };
}

function refused(detail: string): Framing {
  return { kind: 'refused', detail };
}
