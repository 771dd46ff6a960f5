/**
 * Owns refusals: what the gateway answers before any handler is asked, and the body of every refusal,
 * `application/problem+json` (RFC 9457) with our stable code.
 *
 * 1. Nothing but what the error declares safe is in it.
 * 2. 429 and 503 always say when to try again.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Headers, Route } from '../transport.ts';

export const problemType = 'application/problem+json';

export function problemDocument(error: ServiceError, requestId: string): string {
  const own = {
    type: 'about:blank',
    title: error.title,
    status: error.status,
    code: error.code,
    detail: error.message,
    requestId,
  };
  // Our own members come first, and no extension replaces them.
  return JSON.stringify({ ...own, ...error.extensions, ...own });
}

export function problemHeaders(error: ServiceError): Headers {
  const retry = error.retryAfterS;
  return {
    'Content-Type': problemType,
    ...error.headers,
    ...(retry !== undefined && { 'Retry-After': String(Math.max(1, Math.ceil(retry))) }),
  };
}

export function shuttingDown(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'The service is restarting.', { retryAfterS: 5 });
}

export function notFound(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is nothing at this address.');
}

/** Answers a refused request in the way of its route, if it has one. */
export function refusing(
  refused: ServiceError = notFound(),
  route: Pick<Route, 'refuse'> = {},
): Pick<Route, 'handle' | 'refuse'> {
  return {
    ...route,
    handle() {
      throw refused;
    },
  };
}
