/**
 * Owns media types: that of a request, and the choice of one by `Accept` (RFC 9110, section 12.5.1): the offer with the highest
 * quality, exact names before wildcards, and among equals the first offer.
 */
import type { Exchange } from '../transport.ts';

/** The media type of a request's body, in small letters and without parameters; '' for none. */
export function mediaTypeOf(exchange: Exchange): string {
  const [type = ''] = exchange.header('content-type').split(';', 1);
  return type.trim().toLowerCase();
}

interface Range {
  type: string;
  q: number;
}

/** The offer the client likes best; null when it takes none of them. */
export function negotiate<T extends string>(accept: string, offers: readonly T[]): T | null {
  const ranges = accept.toLowerCase().split(',').map(parseRange);
  let best: T | null = null;
  let bestScore = 0;
  for (const offer of offers) {
    const score = scoreOf(offer, ranges);
    if (score > bestScore) {
      best = offer;
      bestScore = score;
    }
  }
  return best;
}

function parseRange(text: string): Range {
  const [type = '', ...params] = text.split(';').map((part) => part.trim());
  const q = params.find((param) => param.startsWith('q='));
  const value = q === undefined ? 1 : Number(q.slice(2));
  const charset = params.find((param) => param.startsWith('charset='));
  // We answer in UTF-8 only.
  const readable = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  return { type, q: readable && value >= 0 && value <= 1 ? value : 0 };
}

/** Quality first; then an exact name beats `type/*`, which beats the full wildcard. */
function scoreOf(offer: string, ranges: readonly Range[]): number {
  const group = `${offer.slice(0, offer.indexOf('/'))}/*`;
  const levels = [offer, group, '*/*'];
  for (const [level, name] of levels.entries()) {
    const range = ranges.find((one) => one.type === name);
    if (range) return range.q === 0 ? 0 : range.q * 10 + (levels.length - level);
  }
  return 0;
}
