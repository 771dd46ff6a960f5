/**
 * Owns what the query and `Last-Event-ID` of a log stream mean.
 *
 * `Last-Event-ID` wins over `after`: a browser that reconnects keeps the address, with the `after` of its
 * first connection, and adds the header, which is newer. With either of them `tail` and `sinceMinutes` are
 * checked but have no effect.
 */
import { type Cursor, parseCursor } from '../../protocol/sse.ts';
import { badInput, queryNumber, queryValue } from './query-values.ts';

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
  const after = cursor('after', queryValue(query, 'after') ?? '');
  const resumed = cursor('Last-Event-ID', lastEventId);
  return {
    container: queryValue(query, 'container') ?? '',
    tail: tail ?? tailDefault,
    sinceMinutes:
      sinceMinutes === undefined ? undefined : Math.min(sinceMinutes, logMaxDays * 24 * 60),
    timestamps: flag(query, 'timestamps'),
    notices: flag(query, 'notices'),
    after: resumed ?? after,
  };
}

function integer(
  query: URLSearchParams,
  name: string,
  min: number,
  max: number,
): number | undefined {
  const value = queryNumber(query, name);
  if (value === undefined || (value >= min && value <= max)) return value;
  const range =
    max === Infinity ? `of at least ${String(min)}` : `from ${String(min)} to ${String(max)}`;
  throw badInput(`${name} must be an integer ${range}.`);
}

function flag(query: URLSearchParams, name: string): boolean {
  const text = queryValue(query, name);
  if (text === undefined || text === '0') return false;
  if (text === '1') return true;
  throw badInput(`${name} must be 1, or be left out.`);
}

function cursor(name: string, text: string): Cursor | undefined {
  if (text === '') return undefined;
  const parsed = parseCursor(text);
  if (parsed !== undefined) return parsed;
  throw badInput(`${name} must be the id of a frame of this log: <generation>:<offset>.`);
}
