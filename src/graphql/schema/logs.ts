/** Owns log lines in the schema: an app's output and the log of a deployment. */
import { TextDecoder } from 'node:util';
import { ServiceError } from '../../lib/errors.ts';
import { containerLog, containerNames } from '../../actors/app/running/containers.ts';
import type { LogLine, LogName } from '../../logs/files/log.ts';
import type { GraphContext } from '../context.ts';
import { boundedCount, decodeCursor, encodeCursor, type Page } from '../page.ts';
import { builder, connectionType } from './builder.ts';
import { appOrDatabase, needs, type Owner } from './needs.ts';

export interface LineText {
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
  }),
});

export const LogConnectionType = connectionType('LogConnection', LogLineType);

builder.queryField('logs', (t) =>
  t.field({
    type: LogConnectionType,
    ...needs('view_logs', appOrDatabase, {
      description:
        'The last `tail` lines, or with `after` up to `tail` lines behind it; endCursor continues.',
      args: {
        container: t.arg.string(),
        tail: t.arg.int({ defaultValue: 200 }),
        after: t.arg.string(),
      },
      resolve: (owner, { container, tail, after }, context) => {
        const log = logOf(context, owner, container ?? '');
        const count = boundedCount('tail', tail, 200, logPageMax);
        return readLines(context, log, count, after ?? null, 'end');
      },
    }),
  }),
);

function logOf({ read }: GraphContext, { app, database }: Owner, container: string): LogName {
  const names = app ? containerNames(read.reader, app) : [databaseContainer];
  if (container !== '' && !names.includes(container)) {
    throw new ServiceError('NO_SUCH_CONTAINER', 'No such container.');
  }
  return app ? containerLog(app.id, names, container) : `db:${database.id}`;
}

/**
 * A page of a log: behind a cursor, or without one from its start or its end. What is too much for a
 * page is left to the next one; of a page at the end its oldest lines are left out.
 */
export function readLines(
  { read: { logs }, via }: Pick<GraphContext, 'read' | 'via'>,
  log: LogName,
  count: number,
  after: string | null,
  start: 'start' | 'end',
): Page<LineText> {
  const cursor = after === null ? null : parseCursor(after);
  const range = logs.range(log);
  if (!range) return { nodes: [], pageInfo: { endCursor: after, hasNextPage: false } };
  const { generation, firstOffset, nextOffset } = range;
  const isTail = start === 'end' && cursor === null;
  let from = isTail ? Math.max(firstOffset, nextOffset - count) : firstOffset;
  // A cursor of an earlier generation is of lines that are gone: all there is comes after it.
  if (cursor?.generation === generation) from = cursor.next;
  let rows: LogLine[] = [];
  let next = Math.max(from, firstOffset);
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
      return { atMs: line.atMs, stream: line.stream, text: text.replace(/\r?\n$/, '') };
    });
  }
}

function parseCursor(after: string): { generation: string; next: number } {
  const position = decodeCursor('log', after);
  const at = position.lastIndexOf(':');
  const next = Number(position.slice(at + 1));
  if (at < 1 || !Number.isSafeInteger(next) || next < 0) {
    throw new ServiceError('BAD_USER_INPUT', 'after is not a cursor of this list.');
  }
  return { generation: position.slice(0, at), next };
}
