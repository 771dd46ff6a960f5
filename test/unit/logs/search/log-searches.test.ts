import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { LogSearch } from '../../../../src/logs/search/search.ts';
import { LogSearches, type LogSearchesOptions } from '../../../../src/logs/search/log-searches.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';
import { storeLog } from '../../../support/stored-logs.ts';

const hanging = new URL('../../../support/hanging-search-task.ts', import.meta.url);
const lost = new URL('../../../support/no-such-task.ts', import.meta.url);

const search: LogSearch = {
  ...{ log: 'app:app_one', text: 'two', regex: false, caseSensitive: false, matchesMax: 100 },
  ...{ sinceMs: null, untilMs: null, before: null, foundBytesMax: 1e6 },
};

async function fixture(t: TestContext, options: Partial<LogSearchesOptions> = {}) {
  const dir = await temporaryFolder(t);
  const clock = new ManualClock();
  const logger = recordingLogger();
  const searches = new LogSearches({ dir, clock, logger, ...options });
  t.after(() => searches.close());
  const find = (key: string, signal: AbortSignal | null = null, wanted = search) =>
    searches.find(wanted, { key, signal });
  return { dir, clock, logger, searches, find };
}

const failsWith = (code: string) => (promise: Promise<unknown>) =>
  assert.rejects(promise, { code });

describe('searches of logs', () => {
  it('are answered by a thread, also the next time when it has ended meanwhile', async (t) => {
    const { dir, clock, find } = await fixture(t, { idleMs: 1_000 });
    await storeLog(
      dir,
      'app:app_one',
      ['one', 'two', 'three two'].map((text) => ({ text, atMs: 5 })),
    );
    for (let i = 0; i < 2; i++) {
      const { matches, nextBefore } = await find('me');
      assert.deepEqual(
        matches.map(({ text }) => text),
        ['three two', 'two'],
      );
      assert.equal(nextBefore, null);
      await clock.advance(2_000);
    }
    const unfit = { ...search, text: '(', regex: true };
    await failsWith('BAD_USER_INPUT')(find('me', null, unfit));
  });

  it('are bounded for each caller and in sum, and free again when a caller has left', async (t) => {
    const { find } = await fixture(t, { task: hanging, perCallerMax: 2, searchesMax: 3 });
    const leaving = new AbortController();
    const left = failsWith('DEADLINE_EXCEEDED')(find('me', leaving.signal));
    const rest = [find('me'), find('you')].map(failsWith('SHUTTING_DOWN'));
    await failsWith('RATE_LIMITED')(find('me'));
    await failsWith('OVERLOADED')(find('you'));
    leaving.abort();
    await left;
    await failsWith('DEADLINE_EXCEEDED')(find('me', leaving.signal));
    rest.push(failsWith('SHUTTING_DOWN')(find('me')));
    t.after(() => Promise.all(rest));
  });

  it('fail when their thread says nothing for too long, and it is ended', async (t) => {
    const { clock, find, logger } = await fixture(t, { task: hanging, stuckMs: 5_000 });
    const late = failsWith('DEADLINE_EXCEEDED')(find('me'));
    await clock.advance(6_000);
    await late;
    assert.deepEqual(
      logger.records.map(({ event }) => event),
      ['search_thread_stuck'],
    );
  });

  it('fail when their thread is lost', async (t) => {
    const { find, logger } = await fixture(t, { task: lost });
    await failsWith('OVERLOADED')(find('me'));
    assert.deepEqual(
      logger.records.map(({ event }) => event),
      ['search_thread_lost'],
    );
  });

  it('are refused once closed', async (t) => {
    const { find, searches } = await fixture(t);
    await searches.close();
    await failsWith('SHUTTING_DOWN')(find('me'));
  });
});
