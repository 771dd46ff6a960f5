/**
 * Owns the refusal of requests that a page of another site made a browser send.
 *
 * 1. `Sec-Fetch-Site` decides where it is sent: `same-origin` and `none` pass.
 * 2. Else an `Origin` passes when it equals the public URL's.
 * 3. Where both are absent no browser sent it, and it passes.
 */
import { ServiceError } from '../lib/errors.ts';
import type { Exchange } from './contract.ts';

/** Throws CROSS_SITE. */
export function refuseCrossSite(exchange: Pick<Exchange, 'header'>, publicUrl: string): void {
  const site = exchange.header('sec-fetch-site');
  const origin = exchange.header('origin');
  const passes =
    site !== ''
      ? site === 'same-origin' || site === 'none'
      : origin === '' || origin === new URL(publicUrl).origin;
  if (!passes) {
    throw new ServiceError('CROSS_SITE', 'This request was made by a page of another site.');
  }
}
