/** Owns log lines in the schema: an app's output and the log of a deployment. */
import { TextDecoder } from 'node:util';
import { ServiceError } from '../../lib/errors.ts';
import { containerLog, containerNames } from '../../actors/app/running/containers.ts';
import type { LogLine, LogName, LogRange, LogReader } from '../../logs/files/log.ts';
import type { GraphContext } from '../context.ts';
import { boundedCount, decodeCursor, encodeCursor, type Page } from '../page.ts';
import { builder, connectionType } from './builder.ts';
import { appOrDatabase, needs, type Owner } from './needs.ts';

export interface LineText {
  offset: number;
  atMs: number;
  stream: string;
  text: string;
}

/** Lines one page may hold; the log streams take the same. */
export const logPageMax = 5_000;

/** Bytes of lines in one page: agents are shown a few kB of them, and all of it is looked through. */
const pageBytes: Readonly<Record<GraphContext['via'], number>> = {
  http: 4 * 1024 * 1024,
  mcp: 1280 * 1024,
};

export const databaseContainer = 'database';

export const LogLineType = builder.objectRef<LineText>('LogLine').implement({
  fields: (t) => ({
    at: t.expose('atMs', { type: 'DateTime' }),
    stream: t.exposeString('stream', {
      description: 'stdout, stderr, system, or access: a request of a visitor.',
    }),
    text: t.exposeString('text', { description: 'The line without its end.' }),
    offset: t.exposeFloat('offset', {
      description: 'Its place in the log: one more than that of the line before.',
    }),
  }),
});

/** A page of a log; `range` is null for a log that was never written. */
export interface LogPage extends Page<LineText> {
  range: LogRange | null;
}

const LogRangeType = builder.objectRef<LogRange>('LogRange').implement({
  description: 'The lines that are kept.',
  fields: (t) => ({
    generation: t.exposeString('generation', {
      description: 'Offsets of one generation are of the same lines.',
    }),
    firstOffset: t.exposeFloat('firstOffset', { description: 'That of the oldest line.' }),
    nextOffset: t.exposeFloat('nextOffset', { description: 'That of the next line to come.' }),
  }),
});

export const LogConnectionType = connectionType<LineText, LogPage>('LogConnection', LogLineType);

builder.objectField(LogConnectionType, 'range', (t) =>
  t.field({ type: LogRangeType, nullable: true, resolve: ({ range }) => range }),
);

builder.queryField('logs', (t) =>
  t.field({
    type: LogConnectionType,
    ...needs('view_logs', appOrDatabase, {
      description:
        'The last `tail` lines; or up to `tail` lines behind `after`, from the offset `from` on, or from the first ' +
        'one written at or after `at`. endCursor continues.',
      args: {
        container: t.arg.string(),
        tail: t.arg.int({ defaultValue: 200 }),
        after: t.arg.string(),
        from: t.arg.float(),
        at: t.arg({ type: 'DateTime' }),
      },
      resolve: (owner, { container, tail, ...start }, context) => {
        const log = logOf(context, owner, container ?? '');
        const count = boundedCount('tail', tail, 200, logPageMax);
        return readLines(context, log, count, startOf(start));
      },
    }),
  }),
);

/** The log of a container, '' for the default: NO_SUCH_CONTAINER. */
export function logOf(
  { read }: GraphContext,
  { app, database }: Owner,
  container: string,
): LogName {
  const names = app ? containerNames(read.reader, app) : [databaseContainer];
  if (container !== '' && !names.includes(container)) {
    throw new ServiceError('NO_SUCH_CONTAINER', 'No such container.');
  }
  return app ? containerLog(app.id, names, container) : `db:${database.id}`;
}

/** Where a page begins, or that it is the end of the log. */
export type PageStart = 'start' | 'end' | { after: string } | { from: number } | { atMs: number };

function startOf(given: {
  after?: string | null | undefined;
  from?: number | null | undefined;
  at?: number | null | undefined;
}): PageStart {
  const { after = null, from = null, at = null } = given;
  if ([after, from, at].filter((one) => one !== null).length > 1) {
    throw new ServiceError('BAD_USER_INPUT', 'Name one of after, from and at.');
  }
  if (from !== null) {
    if (Number.isSafeInteger(from) && from >= 0) return { from };
    throw new ServiceError('BAD_USER_INPUT', 'from must be the offset of a line.');
  }
  if (at !== null) return { atMs: at };
  return after === null ? 'end' : { after };
}

/** The first line of a page. */
function firstOf(
  logs: LogReader,
  log: LogName,
  range: LogRange,
  { count, start }: { count: number; start: PageStart },
): number {
  const { firstOffset, nextOffset } = range;
  if (start === 'start') return firstOffset;
  if (start === 'end') return Math.max(firstOffset, nextOffset - count);
  if ('from' in start) return start.from;
  if ('atMs' in start) return logs.offsetAt(log, start.atMs);
  const { generation, next } = parseCursor(start.after);
  // A cursor of an earlier generation is of lines that are gone: all there is comes after it.
  return generation === range.generation ? next : firstOffset;
}

/**
 * A page of a log. What is too much for a page is left to the next one; of a page at the end its oldest lines
 * are left out.
 */
export function readLines(
  { read: { logs }, via }: Pick<GraphContext, 'read' | 'via'>,
  log: LogName,
  count: number,
  start: PageStart,
): LogPage {
  const range = logs.range(log);
  if (!range) {
    const endCursor = typeof start === 'object' && 'after' in start ? start.after : null;
    if (endCursor !== null) parseCursor(endCursor);
    return { nodes: [], pageInfo: { endCursor, hasNextPage: false }, range: null };
  }
  const { generation, firstOffset, nextOffset } = range;
  const isTail = start === 'end';
  let rows: LogLine[] = [];
  let next = Math.max(firstOf(logs, log, range, { count, start }), firstOffset);
  let bytes = 0;
  for (let left = count; left > 0 && (isTail || bytes < pageBytes[via]);) {
    const slice = logs.read(log, next, left);
    if (slice.lines.length === 0) break;
    left -= slice.lines.length;
    rows.push(...slice.lines);
    if (isTail) rows = newest(rows, pageBytes[via]);
    next = slice.nextOffset;
    for (const line of slice.lines) bytes += line.bytes.length;
  }
  return {
    nodes: new LineDecoder().decode(rows),
    pageInfo: {
      endCursor: encodeCursor('log', `${generation}:${next}`),
      hasNextPage: next < nextOffset,
    },
    range,
  };
}

/** The last lines that take so many bytes, one at least. */
function newest(rows: LogLine[], bytesMax: number): LogLine[] {
  let bytes = 0;
  const tooMany = rows.findLastIndex((line) => (bytes += line.bytes.length) > bytesMax);
  return tooMany < 0 ? rows : rows.slice(Math.min(tooMany + 1, rows.length - 1));
}

/** Decodes lines as text; a long line that was cut in two is decoded across the cut. */
export class LineDecoder {
  readonly #decoders = new Map<string, TextDecoder>();

  decode(lines: readonly LogLine[]): LineText[] {
    return lines.map((line) => {
      const decoder = this.#decoders.get(line.stream) ?? new TextDecoder();
      this.#decoders.set(line.stream, decoder);
      const whole = line.bytes.at(-1) === 0x0a;
      const text = decoder.decode(line.bytes, { stream: !whole });
      const { offset, atMs, stream } = line;
      return { offset, atMs, stream, text: text.replace(/\r?\n$/, '') };
    });
  }
}

/** The position behind a cursor: BAD_USER_INPUT for one that is not of this kind. */
export function parseCursor(
  cursor: string,
  kind: 'log' | 'logsearch' = 'log',
): { generation: string; next: number } {
  const position = decodeCursor(kind, cursor);
  const at = position.lastIndexOf(':');
  const next = Number(position.slice(at + 1));
  if (at < 1 || !Number.isSafeInteger(next) || next < 0) {
    throw new ServiceError('BAD_USER_INPUT', 'after is not a cursor of this list.');
  }
  return { generation: position.slice(0, at), next };
}
