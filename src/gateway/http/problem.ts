/**
 * Owns the body of a refusal: `application/problem+json` (RFC 9457) with our stable code.
 *
 * 1. Nothing but what the error declares safe is in it.
 * 2. 429 and 503 always say when to try again.
 */
import type { ServiceError } from '../../lib/errors.ts';
import type { Headers } from '../transport.ts';

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
