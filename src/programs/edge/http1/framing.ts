/** Owns how the body of a message is framed (RFC 9112, 6), by what its head says. */

/** Of a body: so many bytes, chunks, or all until the connection ends. */
export type Framing = number | 'chunked' | 'until-close';

/**
 * By the values of `Content-Length` and `Transfer-Encoding`; undefined where two parsers could read them differently.
 * `otherwise`: where neither is told.
 */
export function framingOf(
  length: string | undefined,
  coding: string | undefined,
  otherwise: Framing,
): Framing | undefined {
  if (coding !== undefined)
    return length === undefined && coding.toLowerCase() === 'chunked' ? 'chunked' : undefined;
  if (length === undefined) return otherwise;
  return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
