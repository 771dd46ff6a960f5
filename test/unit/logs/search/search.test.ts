import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { LogName } from '../../../../src/logs/files/log.ts';
import { LogFiles } from '../../../../src/logs/files/reader.ts';
import {
  type LogSearch,
  type LogSearchResult,
  RunningSearch,
} from '../../../../src/logs/search/search.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';
import { storeLog } from '../../../support/stored-logs.ts';

const log: LogName = 'app:app_one';
const firstMs = 1_700_000_000_000;
const count = 30_000;

/** A line a second; every hundredth tells of an error. */
function* lines() {
  for (let i = 1; i <= count; i++) {
    const text = i % 100 === 0 ? `line ${i} Er\u001b[31mror\u001b[0m` : `line ${i} fine`;
    yield { text, atMs: firstMs + i * 1_000 };
  }
}

async function fixture(t: TestContext, bounds: { searchBytes?: number; searchMs?: number } = {}) {
  const dir = await temporaryFolder(t);
  // Some segments, and many pieces of them.
  await storeLog(dir, log, lines(), { segmentBytes: 256 * 1024, blockLines: 50 });
  const files = new LogFiles(dir);
  let nowMs = 0;
  const all = { now: () => nowMs++, searchMs: Infinity, searchBytes: Infinity, stepMs: 1_000 };
  const find = (search: Partial<LogSearch>): LogSearchResult & { steps: number } => {
    const running = new RunningSearch(
      files,
      {
        ...{ log, text: 'error', regex: false, caseSensitive: false, matchesMax: 500 },
        ...{ sinceMs: null, untilMs: null, before: null, foundBytesMax: 1e9, ...search },
      },
      { ...all, ...bounds },
    );
    for (let steps = 1; ; steps++) {
      const result = running.step();
      if (result !== null) return { ...result, steps };
    }
  };
  return { find, files };
}

const offsets = ({ matches }: LogSearchResult) => matches.map(({ offset }) => offset);
/** Offsets of errors, the newest first, from one on. */
const errors = (from: number, many: number) =>
  Array.from({ length: many }, (_, i) => from - i * 100);

describe('a search', () => {
  it('finds the newest lines first, and goes on from where it came to until it saw all', async (t) => {
    const { find } = await fixture(t);
    const seen: number[] = [];
    let before: LogSearch['before'] = null;
    for (let pages = 0; pages < 10; pages++) {
      const result = find({ matchesMax: 70, before });
      seen.push(...offsets(result));
      assert.equal(
        result.matches[0]?.text,
        `line ${result.matches[0]?.offset ?? 0} Er\u001b[31mror\u001b[0m`,
      );
      if (result.nextBefore === null) {
        assert.equal(result.scannedToMs, firstMs + 1_000);
        break;
      }
      assert.equal(result.scannedToMs, result.matches.at(-1)?.atMs);
      before = { generation: result.generation, offset: result.nextBefore };
    }
    assert.deepEqual(seen, errors(count, count / 100));
  });

  it('keeps to a time: from its start, up to its end', async (t) => {
    const { find } = await fixture(t);
    const within = find({ sinceMs: firstMs + 1_000_000, untilMs: firstMs + 1_300_000 });
    assert.deepEqual(offsets(within), [1_200, 1_100, 1_000]);
    assert.equal(within.nextBefore, null);
    assert.deepEqual(offsets(find({ sinceMs: firstMs + count * 2_000 })), []);
    assert.deepEqual(offsets(find({ untilMs: firstMs })), []);
  });

  it('finds by an expression, in a case, and nothing where there is no log', async (t) => {
    const { find } = await fixture(t);
    assert.deepEqual(offsets(find({ text: '^line 1?2345 ', regex: true })), [12_345, 2_345]);
    assert.deepEqual(offsets(find({ text: 'line 777 fine', caseSensitive: true })), [777]);
    assert.deepEqual(offsets(find({ text: 'LINE 777 fine', caseSensitive: true })), []);
    const none = find({ log: 'db:db_none' });
    assert.deepEqual([none.matches, none.nextBefore, none.scannedToMs], [[], null, null]);
  });

  it('stops at its bounds, says how far it came, and misses nothing when it goes on', async (t) => {
    for (const bounds of [{ searchBytes: 1 }, { searchMs: 1_500 }]) {
      const { find } = await fixture(t, bounds);
      const seen: number[] = [];
      let before: LogSearch['before'] = null;
      let pages = 0;
      for (; pages < 1_000; pages++) {
        const result = find({ text: 'line \\d+ er', regex: true, before });
        seen.push(...offsets(result));
        if (result.nextBefore === null) break;
        assert.ok(result.nextBefore < (before?.offset ?? Infinity));
        before = { generation: result.generation, offset: result.nextBefore };
      }
      assert.ok(pages > 1, JSON.stringify(bounds));
      assert.deepEqual(seen, errors(count, count / 100));
    }
  });

  it('is done in many steps, and gives a line even when it is longer than all may be', async (t) => {
    const { find } = await fixture(t);
    assert.ok(find({ text: '\\d{9}', regex: true }).steps > 10);
    assert.deepEqual(offsets(find({ foundBytesMax: 1 })), [count]);
  });

  it('passes over lines of another generation', async (t) => {
    const { find } = await fixture(t);
    const gone = find({ before: { generation: 'other', offset: 500 } });
    assert.deepEqual([offsets(gone), gone.nextBefore], [[], null]);
  });
});
