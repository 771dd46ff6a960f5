/**
 * Owns how a certificate authority fails: it refuses, with words of its own for people, or it is not there.
 * Whoever catches one decides when to try again.
 */

const wordsMax = 500;

/** The authority has judged the request, and the same again would be refused again. */
export class CaRefusal extends Error {
  override name = 'CaRefusal';
  /** The last part of its type (RFC 8555, section 6.7), such as `rateLimited`. */
  readonly type: string;
  /** How long it wants to be left alone with this; null: it does not say. */
  readonly retryAfterMs: number | null;

  constructor(type: string, detail: string, retryAfterMs: number | null = null) {
    super(`The certificate authority refused (${plain(type)}): ${plain(detail)}`);
    this.type = type;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The authority is not reached, overloaded, or says what nobody understands. */
export class CaUnavailable extends Error {
  override name = 'CaUnavailable';
  readonly retryAfterMs: number | null;

  constructor(why: string, options: { retryAfterMs?: number | null; cause?: unknown } = {}) {
    super(`The certificate authority cannot be used now: ${plain(why)}`, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** Words of others as they may be shown: on one line, and not endless. */
export function plain(words: string): string {
  const line = words.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > wordsMax ? `${line.slice(0, wordsMax)}…` : line;
}
