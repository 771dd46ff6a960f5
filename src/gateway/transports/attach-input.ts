/** Owns what the query and the body of a console mean. */
import type { ConsoleSize } from '../../consoles/console-door.ts';
import { ServiceError } from '../../lib/errors.ts';
import { badInput, queryNumber, queryValue } from './query-values.ts';

export interface AttachQuery {
  /** The console to return to; null for a new one. */
  sessionId: string | null;
  /** '' for the default. */
  container: string;
  mode: 'shell' | 'attach';
  /** Null where neither side is given. A single missing side gets its default. */
  size: ConsoleSize | null;
}

export type ConsoleInput =
  { sessionId: string; bytes: Uint8Array } | { sessionId: string; size: ConsoleSize };

const sizeMax = 1000;
/** The id of a console's event begins with this. Any other id comes from another stream. */
const sessionPrefix = 'str_';
const utf8 = new TextDecoder('utf-8', { fatal: true });
export const defaultConsoleSize: ConsoleSize = { cols: 80, rows: 24 };

/** `lastEventId` comes from a browser that reconnects by itself, under the address it began with. */
export function parseAttachQuery(query: URLSearchParams, lastEventId: string): AttachQuery {
  const cols = sizeOf(query, 'cols');
  const rows = sizeOf(query, 'rows');
  const mode = queryValue(query, 'mode') ?? 'shell';
  if (mode !== 'shell' && mode !== 'attach') throw badInput('mode is shell or attach.');
  const again = lastEventId.startsWith(sessionPrefix) ? lastEventId : null;
  const sessionId = queryValue(query, 'sessionId') ?? again;
  if (sessionId === '') throw badInput('sessionId is that of a console, or is left out.');
  const given = cols !== undefined || rows !== undefined;
  const size = { cols: cols ?? defaultConsoleSize.cols, rows: rows ?? defaultConsoleSize.rows };
  return {
    sessionId,
    container: queryValue(query, 'container') ?? '',
    mode,
    size: given ? size : null,
  };
}

/** `inputBytes` limits the text, as UTF-8; above it PAYLOAD_TOO_LARGE. */
export function parseConsoleInput(body: Buffer, inputBytes: number): ConsoleInput {
  const wish = objectIn(body);
  const { sessionId, data, resize } = wish;
  if (typeof sessionId !== 'string' || sessionId === '') {
    throw badInput('sessionId is a text: the first event of the console.');
  }
  if ((data === undefined) === (resize === undefined)) {
    throw badInput('Send either data, a text, or resize, with cols and rows.');
  }
  if (resize !== undefined) return { sessionId, size: sizeIn(resize) };
  if (typeof data !== 'string') throw badInput('data is a text.');
  // Half a character would be typed as another one.
  if (!data.isWellFormed()) throw badInput('data ends or begins within a character.');
  const bytes = Buffer.from(data, 'utf8');
  if (bytes.length > inputBytes) {
    throw new ServiceError(
      'PAYLOAD_TOO_LARGE',
      `data has at most ${String(inputBytes)} bytes; send more in several calls.`,
    );
  }
  return { sessionId, bytes };
}

function objectIn(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    throw badInput('The body is a JSON object in UTF-8.'); // One message for every fault.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badInput('The body is a JSON object.');
  }
  return value as Record<string, unknown>;
}

function sizeIn(resize: unknown): ConsoleSize {
  const { cols, rows } = (resize ?? {}) as Record<string, unknown>;
  return { cols: checked('cols', cols), rows: checked('rows', rows) };
}

function sizeOf(query: URLSearchParams, name: string): number | undefined {
  const value = queryNumber(query, name);
  return value === undefined ? undefined : checked(name, value);
}

function checked(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= sizeMax) {
    return value;
  }
  throw badInput(`${name} must be an integer from 1 to ${String(sizeMax)}.`);
}
