/**
 * Owns `GET /metrics`. Whoever may not read it, by default everybody off this machine, is told that it
 * does not exist.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Route } from '../contract.ts';
import { metricsType } from '../metrics-text.ts';
import type { Metrics } from '../metrics.ts';

export type MetricsAccess = 'off' | 'loopback' | 'all';

export function metricsRoute(metrics: Metrics, access: MetricsAccess): Route {
  return {
    method: 'GET',
    path: '/metrics',
    async handle(exchange) {
      const allowed = access === 'all' || (access === 'loopback' && exchange.fromLoopback);
      if (!allowed) throw new ServiceError('NOT_FOUND', 'There is nothing at this address.');
      exchange.send(200, { 'Content-Type': metricsType }, await metrics.text());
    },
  };
}
