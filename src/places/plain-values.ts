/**
 * Owns the reading of values that another machine sent: of a shape that is not as it should be, the text says what is
 * wrong, and nothing of it is used.
 */
import { ServiceError } from '../lib/errors.ts';

type Plain = Readonly<Record<string, unknown>>;

export function refused(what: string): ServiceError {
  return new ServiceError('BAD_REQUEST', `The other server sent ${what}.`);
}

export function recordIn(value: unknown): Plain {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Plain;
  throw refused('something that is no record');
}

export function textIn(from: Plain, name: string, pattern?: RegExp): string {
  const value = from[name];
  if (typeof value === 'string' && (pattern === undefined || pattern.test(value))) return value;
  throw refused(`a ${name} that is not allowed`);
}

export function oneIn<T extends string>(from: Plain, name: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === from[name]);
  if (found !== undefined) return found;
  throw refused(`a ${name} that is not known`);
}

export function numberIn(from: Plain, name: string, max: number): number {
  const value = from[name];
  if (Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= max) {
    return Number(value);
  }
  throw refused(`a ${name} that is not allowed`);
}

export function isIn(from: Plain, name: string): boolean {
  const value = from[name];
  if (typeof value === 'boolean') return value;
  throw refused(`a ${name} that is not allowed`);
}

/** Null where it is null. */
export function orNull<T>(from: Plain, name: string, read: () => T): T | null {
  return from[name] === null ? null : read();
}

export function textsIn(from: Plain, name: string, max: number, pattern?: RegExp): string[] {
  const value = from[name];
  const isFit = (one: unknown): one is string =>
    typeof one === 'string' && (pattern === undefined || pattern.test(one));
  if (Array.isArray(value) && value.length <= max && value.every(isFit)) return value;
  throw refused(`${name} that are not allowed`);
}
