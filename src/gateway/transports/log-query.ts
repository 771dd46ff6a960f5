/**
 * Owns what the query and `Last-Event-ID` of a log stream mean. Every bad value is BAD_USER_INPUT
 * with a sentence that says what is allowed.
 *
 * `Last-Event-ID` wins over `after`: a browser that connects again keeps the address, with the
 * `after` of its first connection, and adds the header, which is newer. With either of them `tail`
 * and `sinceMinutes` are checked but mean nothing.
 */
import { ServiceError } from '../../lib/errors.ts';
import { parseCursor } from '../../protocol/sse.ts';
import type { Cursor } from '../../protocol/sse.ts';

export const tailMax = 5_000;
export const tailDefault = 500;

export interface LogQuery {
  /** '' for the default. */
  container: string;
  tail: number;
  sinceMinutes: number | undefined;
  timestamps: boolean;
  notices: boolean;
  after: Cursor | undefined;
}

/** `lastEventId` is the header, '' when absent; `logMaxDays` bounds `sinceMinutes`. */
export function parseLogQuery(
  query: URLSearchParams,
  lastEventId: string,
  logMaxDays: number,
): LogQuery {
  const tail = integer(query, 'tail', 0, tailMax);
  const sinceMinutes = integer(query, 'sinceMinutes', 0, Infinity);
  const after = cursor('after', one(query, 'after') ?? '');
  const resumed = cursor('Last-Event-ID', lastEventId);
  return {
    container: one(query, 'container') ?? '',
    tail: tail ?? tailDefault,
    sinceMinutes:
      sinceMinutes === undefined ? undefined : Math.min(sinceMinutes, logMaxDays * 24 * 60),
    timestamps: flag(query, 'timestamps'),
    notices: flag(query, 'notices'),
    after: resumed ?? after,
  };
}

function one(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw refused(`${name} may be given once.`);
  return values[0];
}

function integer(
  query: URLSearchParams,
  name: string,
  min: number,
  max: number,
): number | undefined {
  const text = one(query, name);
  if (text === undefined) return undefined;
  const value = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  const range =
    max === Infinity ? `of at least ${String(min)}` : `from ${String(min)} to ${String(max)}`;
  throw refused(`${name} must be an integer ${range}.`);
}

function flag(query: URLSearchParams, name: string): boolean {
  const text = one(query, name);
  if (text === undefined || text === '0') return false;
  if (text === '1') return true;
  throw refused(`${name} must be 1, or be left out.`);
}

function cursor(name: string, text: string): Cursor | undefined {
  if (text === '') return undefined;
  const parsed = parseCursor(text);
  if (parsed !== undefined) return parsed;
  throw refused(`${name} must be the id of a frame of this log: <generation>:<offset>.`);
}

function refused(sentence: string): ServiceError {
  return new ServiceError('BAD_USER_INPUT', sentence);
}
