/**
 * Owns `GET /metrics`. An address alone is no credential, because every app of this machine comes from
 * loopback, too. The readers are the instance's administrator in a browser, senders of the configured
 * token, and the configured networks.
 *
 * 1. A network counts only under a Host that names us: a page of another site speaks from the address of
 *    whoever looks at it.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isLoopback, networks } from '../../lib/networks.ts';
import { namesUs } from '../http/own-host.ts';
import type { Exchange, Route } from '../transport.ts';
import type { Callers } from '../credentials.ts';
import { metricsType } from '../metrics-text.ts';
import type { Metrics } from '../metrics.ts';

/** `admin`: the administrator, and callers with the token or from the networks. */
export type MetricsAccess = 'off' | 'admin' | 'all';

export interface MetricsRouteOptions {
  metrics: Pick<Metrics, 'text'>;
  access: MetricsAccess;
  token: string | null;
  /** Addresses and CIDRs. */
  networks: readonly string[];
  /** The address where people reach us. */
  publicUrl: () => string;
  callers: Pick<Callers, 'either'>;
  /** Throws UNAUTHENTICATED or FORBIDDEN for everybody but the administrator. */
  authorizeAdmin: (principal: Principal) => void;
}

export function metricsRoute(options: MetricsRouteOptions): Route {
  const { metrics, access, callers, authorizeAdmin } = options;
  const inNetworks = networks(options.networks);
  const isKnown = (exchange: Exchange): boolean => {
    if (options.token !== null && sends(exchange, options.token)) return true;
    // Behind an untrusted proxy of this machine, everybody comes from loopback.
    const isPeer = !isLoopback(exchange.address) || exchange.fromLoopback;
    return (
      isPeer &&
      inNetworks(exchange.address) &&
      namesUs(exchange.header('host'), options.publicUrl())
    );
  };
  return {
    method: 'GET',
    path: '/metrics',
    async handle(exchange) {
      if (access === 'off')
        throw new ServiceError('NOT_FOUND', 'There is nothing at this address.');
      if (access === 'admin' && !isKnown(exchange)) {
        authorizeAdmin(callers.either(exchange, { changes: false }));
      }
      exchange.send(200, { 'Content-Type': metricsType }, await metrics.text());
    },
  };
}

function sends(exchange: Exchange, token: string): boolean {
  if (exchange.headerCount('authorization') !== 1) return false;
  const [, sent] = /^Bearer +(\S+)$/i.exec(exchange.header('authorization').trim()) ?? [];
  return sent !== undefined && timingSafeEqual(digest(sent), digest(token));
}

/** A digest has a fixed length, as a comparison in constant time needs it. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
