/**
 * Owns the line a request leaves in the log: the route's template, never the path, the query, a
 * cookie or a token. Bare routes are logged at debug level only.
 */
import type { Logger } from '../lib/log.ts';
import type { Ending } from './exchange-host.ts';
import type { HttpExchange } from './exchange.ts';

export type AccessLog = (exchange: HttpExchange, ending: Ending, durationMs: number) => void;

export function accessLog(logger: Logger): AccessLog {
  return (exchange, ending, durationMs) => {
    const fields = {
      route: exchange.route || null,
      method: exchange.requestMethod,
      status: ending.status,
      durationMs: Math.round(durationMs * 10) / 10,
      bytes: ending.bytes,
      requestId: exchange.requestId,
      address: exchange.address,
      ...(ending.aborted && { aborted: true }),
    };
    if (exchange.definition?.bare === true) logger.debug(fields, 'request');
    else logger.info(fields, 'request');
  };
}
