/** Owns log lines in the schema: an app's output and the log of a deployment. */
import { TextDecoder } from 'node:util';
import { ServiceError } from '../../lib/errors.ts';
import type { LogLine, LogName, LogReader } from '../../store/logs/contract.ts';
import { requireApp } from '../access.ts';
import { boundedCount, decodeCursor, encodeCursor, type Page } from '../page.ts';
import type { Builder, Shared } from './builder.ts';

export interface LineText {
  atMs: number;
  stream: string;
  text: string;
}

/** Lines one page may hold; the log streams take the same. */
export const logPageMax = 5_000;
const logPageBytes = 4 * 1024 * 1024;

/** The one container of an app that is no compose stack, wherever one has to be named. */
export const defaultContainer = 'app';

export function addLogs(builder: Builder, { pageInfo }: Shared) {
  const logLine = builder.objectRef<LineText>('LogLine').implement({
    fields: (t) => ({
      at: t.field({ type: 'DateTime', resolve: (line) => line.atMs }),
      stream: t.exposeString('stream', { description: 'stdout, stderr or system.' }),
      text: t.exposeString('text', { description: 'The line without its end.' }),
    }),
  });
  const logConnection = builder.objectRef<Page<LineText>>('LogConnection').implement({
    fields: (t) => ({
      nodes: t.field({ type: [logLine], resolve: (page) => page.nodes }),
      pageInfo: t.expose('pageInfo', { type: pageInfo }),
    }),
  });
  builder.queryFields((t) => ({
    logs: t.field({
      type: logConnection,
      description:
        'view_logs. The last `tail` lines, or with `after` up to `tail` lines behind it; endCursor continues.',
      args: {
        appId: t.arg.id(),
        databaseId: t.arg.id(),
        container: t.arg.string(),
        tail: t.arg.int({ defaultValue: 200 }),
        after: t.arg.string(),
      },
      resolve: (_root, { appId, databaseId, container, tail, after }, context) => {
        if ((appId == null) === (databaseId == null)) {
          throw new ServiceError('BAD_USER_INPUT', 'Name either appId or databaseId.');
        }
        if (appId == null) throw new ServiceError('NOT_FOUND', 'No such database.');
        const app = requireApp(context, appId, 'view_logs');
        if (container != null && container !== defaultContainer) {
          throw new ServiceError('NO_SUCH_CONTAINER', 'No such container.');
        }
        const count = boundedCount('tail', tail, 200, logPageMax);
        return readLines(context.read.logs, `app:${app.id}`, count, after ?? null, 'end');
      },
    }),
  }));
  return { logLine, logConnection };
}

/** A page of a log: behind a cursor, or without one from its start or its end. */
export function readLines(
  logs: LogReader,
  log: LogName,
  count: number,
  after: string | null,
  start: 'start' | 'end',
): Page<LineText> {
  const cursor = after === null ? null : parseCursor(after);
  const range = logs.range(log);
  if (!range) return { nodes: [], pageInfo: { endCursor: after, hasNextPage: false } };
  const { generation, firstOffset, nextOffset } = range;
  let from = start === 'start' ? firstOffset : Math.max(firstOffset, nextOffset - count);
  // A cursor of an earlier generation is of lines that are gone: all there is comes after it.
  if (cursor) from = cursor.generation === generation ? cursor.next : firstOffset;
  const rows: LogLine[] = [];
  let next = Math.max(from, firstOffset);
  let bytes = 0;
  while (rows.length < count && bytes < logPageBytes) {
    const slice = logs.read(log, next, count - rows.length);
    if (slice.lines.length === 0) break;
    rows.push(...slice.lines);
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
