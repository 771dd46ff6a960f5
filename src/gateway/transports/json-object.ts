/** Owns the reading of a small JSON object from a body. */
import { ServiceError } from '../../lib/errors.ts';

/** Throws BAD_REQUEST. */
export function jsonObject(body: Buffer): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new ServiceError('BAD_REQUEST', 'The body is no JSON.', { cause });
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    return parsed as Record<string, unknown>;
  }
  throw new ServiceError('BAD_REQUEST', 'The body has to be a JSON object.');
}
