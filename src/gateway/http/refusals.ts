/** Owns what the gateway answers before any handler is asked. */
import { ServiceError } from '../../lib/errors.ts';
import type { Route } from '../transport.ts';

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
