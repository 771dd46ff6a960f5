import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GraphContext } from '../../../../src/graphql/context.ts';
import { readLines } from '../../../../src/graphql/schema/logs.ts';
import type { LogLine, LogReader } from '../../../../src/logs/files/log.ts';

const lineBytes = 64 * 1024;
const lines = 300;

/** A log of long lines, each of which tells its offset. */
const logs: LogReader = {
  lastOf: () => [],
  range: () => ({ generation: 'g', firstOffset: 0, nextOffset: lines }),
  read: (_log, from, max) => {
    const found: LogLine[] = [];
    for (let offset = from; offset < Math.min(lines, from + Math.min(max, 16)); offset++) {
      const bytes = Buffer.from(`${String(offset).padStart(lineBytes - 1, '.')}\n`);
      found.push({ offset, atMs: 0, stream: 'stdout', bytes });
    }
    return { lines: found, gap: 0, nextOffset: from + found.length };
  },
  offsetAt: () => 0,
};

function page(via: GraphContext['via'], after: string | null, start: 'start' | 'end') {
  const read = { logs } as GraphContext['read'];
  const { nodes, pageInfo } = readLines(
    { read, via },
    'app:a',
    lines,
    after === null ? start : { after },
  );
  return { offsets: nodes.map(({ text }) => Number(text.replace(/^\.+/, ''))), ...pageInfo };
}

describe('readLines()', () => {
  it('leaves the oldest lines out of an end that is too much, more of them for agents', () => {
    for (const [via, bytesMax] of [
      ['http', 4 * 1024 * 1024],
      ['mcp', 1280 * 1024],
    ] as const) {
      const { offsets, hasNextPage } = page(via, null, 'end');
      assert.equal(offsets.at(-1), lines - 1);
      assert.equal(offsets.length, bytesMax / lineBytes);
      assert.equal(hasNextPage, false);
    }
  });

  it('reaches every line once from the start, page by page', () => {
    const seen: number[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < lines; pages++) {
      const { offsets, endCursor, hasNextPage } = page('mcp', after, 'start');
      seen.push(...offsets);
      after = endCursor;
      if (!hasNextPage) break;
    }
    assert.deepEqual(
      seen,
      Array.from({ length: lines }, (_, offset) => offset),
    );
  });
});
