/**
 * Owns reading values of a query. Every bad value is BAD_USER_INPUT with a sentence that names what is
 * allowed. Unknown parameters are ignored.
 */
import { ServiceError } from '../../lib/errors.ts';

/** A value that may be given once; undefined when it is absent. */
export function queryValue(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw badInput(`${name} may be given once.`);
  return values[0];
}

/** A value as a number without sign, NaN for any other text; undefined when it is absent. */
export function queryNumber(query: URLSearchParams, name: string): number | undefined {
  const text = queryValue(query, name);
  if (text === undefined) return undefined;
  return /^[0-9]+$/.test(text) ? Number(text) : NaN;
}

export function badInput(sentence: string): ServiceError {
  return new ServiceError('BAD_USER_INPUT', sentence);
}
