/**
 * Owns `GET /api/avatar/:style/:preset/:seed`: a picture for whoever or whatever has none, for everybody.
 *
 * 1. The same address has the same picture for ever: browsers and caches keep it.
 * 2. An unknown style or preset is NOT_FOUND, a seed above 128 characters BAD_USER_INPUT.
 * 3. The picture runs nothing and fetches nothing, wherever it is opened.
 * 4. Pictures that have to be drawn are limited for each network: RATE_LIMITED.
 */
import { ServiceError } from '../../lib/errors.ts';
import { networkOf } from '../../lib/networks.ts';
import type { Limit } from '../../lib/rate-limit.ts';
import type { Avatars } from '../../workers/avatars/avatars.ts';
import { type AvatarDesign, avatarPreset, avatarStyle } from '../../workers/avatars/designs.ts';
import { notFound } from '../http/problem.ts';
import { hasMatch } from '../http/ranges.ts';
import type { Exchange, Headers, Route } from '../transport.ts';
import { badInput } from './query-values.ts';

export interface AvatarRouteOptions {
  avatars: Pick<Avatars, 'kept' | 'get'>;
  /** Pictures that have to be drawn, by network. */
  limit: Limit;
}

const seedMax = 128;

const headers: Headers = Object.freeze({
  'Content-Type': 'image/svg+xml',
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
});

export function avatarRoute(options: AvatarRouteOptions): Route {
  return {
    method: 'GET',
    path: '/api/avatar/:style/:preset/:seed',
    head: true,
    async handle(exchange) {
      const { svg, etag } = await pictureOf(options, exchange);
      if (exchange.aborted) return;
      const own = { ...headers, ETag: etag };
      if (hasMatch(exchange.header('if-none-match'), etag)) exchange.send(304, own, '');
      else exchange.send(200, own, svg);
    },
  };
}

function pictureOf({ avatars, limit }: AvatarRouteOptions, exchange: Exchange) {
  const design = designOf(exchange);
  const kept = avatars.kept(design);
  if (kept !== undefined) return kept;
  const retryAfterS = limit.take(networkOf(exchange.address));
  if (retryAfterS > 0) {
    throw new ServiceError('RATE_LIMITED', 'Too many new avatars for this address.', {
      retryAfterS,
    });
  }
  return avatars.get(design);
}

function designOf(exchange: Exchange): AvatarDesign {
  const style = avatarStyle(exchange.param('style'));
  const preset = avatarPreset(exchange.param('preset'));
  if (style === undefined || preset === undefined) throw notFound();
  const seed = exchange.param('seed');
  if (Array.from(seed).length > seedMax) {
    throw badInput(`The seed of an avatar has up to ${String(seedMax)} characters.`);
  }
  return { style, preset, seed };
}
