/** Owns searches through logs in the schema. */
import { ServiceError } from '../../lib/errors.ts';
import type { LogMatch, LogSearchResult } from '../../logs/search/search.ts';
import { requireSignedIn, writeSide } from '../access.ts';
import { boundedCount, encodeCursor, pageMax, type Page } from '../page.ts';
import { builder, connectionType } from './builder.ts';
import { logOf, parseCursor } from './logs.ts';
import { appOrDatabase, needs } from './needs.ts';

/** A match, with the generation of its log. */
type PlacedMatch = LogMatch & { generation: string };

interface SearchPage extends Page<PlacedMatch> {
  scannedToMs: number;
}

const firstDefault = 100;
const foundBytesMax = 4 * 1024 * 1024;

const LogMatchType = builder.objectRef<PlacedMatch>('LogMatch').implement({
  fields: (t) => ({
    at: t.expose('atMs', { type: 'DateTime' }),
    stream: t.exposeString('stream'),
    text: t.exposeString('text', { description: 'The line without its end.' }),
    cursor: t.string({
      description: 'For `after` of `logs`, which goes on behind the line.',
      resolve: ({ generation, offset }) => encodeCursor('log', `${generation}:${offset + 1}`),
    }),
    offset: t.exposeFloat('offset', { description: 'As that of a LogLine.' }),
  }),
});

const LogSearchType = connectionType<PlacedMatch, SearchPage>('LogSearch', LogMatchType);

builder.objectFields(LogSearchType, (t) => ({
  scannedTo: t.field({
    type: 'DateTime',
    description: 'Lines written since then were looked at.',
    resolve: ({ scannedToMs }) => scannedToMs,
  }),
  complete: t.boolean({
    description: 'Whether all lines were looked at; else endCursor goes on.',
    resolve: ({ pageInfo }) => !pageInfo.hasNextPage,
  }),
}));

// It asks others: the gate knows it by its name (`gate/documents.ts`).
builder.queryField('searchLogs', (t) =>
  t.field({
    type: LogSearchType,
    ...needs('view_logs', appOrDatabase, {
      description:
        'Lines that hold the text, the newest first, from all that are kept. One call looks at so much; `after` goes on. ' +
        'An expression is one of JavaScript without looking ahead or behind and without references to groups. ' +
        'Colours are no text.',
      args: {
        container: t.arg.string(),
        text: t.arg.string({ required: true }),
        regex: t.arg.boolean({ defaultValue: false }),
        caseSensitive: t.arg.boolean({ defaultValue: false }),
        since: t.arg({ type: 'DateTime', description: 'Lines written at or after it.' }),
        until: t.arg({ type: 'DateTime', description: 'Lines written before it.' }),
        first: t.arg.int({ defaultValue: firstDefault }),
        after: t.arg.string(),
      },
      resolve: async (owner, { container, text, ...given }, context) => {
        if (context.via === 'mcp') {
          // Who may ask for any text learns a secret of the log letter by letter.
          const detail = 'Over MCP lines are searched by read_logs, which knows what to hide.';
          throw new ServiceError('FORBIDDEN', detail);
        }
        const { searches } = writeSide(context);
        if (!searches) throw new Error('There are no logs to search here.');
        const { since = null, until = null, after } = given;
        const search = {
          ...{ log: logOf(context, owner, container ?? ''), text, foundBytesMax },
          ...{ regex: given.regex === true, caseSensitive: given.caseSensitive === true },
          ...{ sinceMs: since, untilMs: until },
          before: after == null ? null : beforeOf(after),
          matchesMax: boundedCount('first', given.first, firstDefault, pageMax),
        };
        const { userId: key } = requireSignedIn(context);
        return pageOf(
          await searches.find(search, { key, signal: context.call.signal }),
          after,
          since,
        );
      },
    }),
  }),
);

function beforeOf(after: string): { generation: string; offset: number } {
  const { generation, next: offset } = parseCursor(after, 'logsearch');
  return { generation, offset };
}

function pageOf(
  { generation, matches, nextBefore, scannedToMs }: LogSearchResult,
  after: string | null | undefined,
  sinceMs: number | null,
): SearchPage {
  const endCursor =
    nextBefore === null
      ? (after ?? null)
      : encodeCursor('logsearch', `${generation}:${nextBefore}`);
  return {
    nodes: matches.map((match) => ({ ...match, generation })),
    pageInfo: { endCursor, hasNextPage: nextBefore !== null },
    scannedToMs: (nextBefore === null ? sinceMs : null) ?? scannedToMs ?? Date.now(),
  };
}
