import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import { sameStopMs, stopOnSignals } from '../../../src/service/signals.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('stopOnSignals()', () => {
  /** What signals come to that each come some time after the one before. */
  async function told(...signals: [string, number][]): Promise<string[]> {
    const source = new EventEmitter();
    const clock = new ManualClock();
    const seen: string[] = [];
    const handlers = {
      drain: (signal: string) => seen.push(`drain by ${signal}`),
      endNow: () => seen.push('end'),
    };
    stopOnSignals(handlers, source, clock);
    for (const [signal, afterMs] of signals) {
      await clock.advance(afterMs);
      source.emit(signal, signal);
      seen.push('-');
    }
    return seen;
  }

  it('drains at the first signal', async () => {
    assert.deepEqual(await told(['SIGTERM', 5]), ['drain by SIGTERM', '-']);
    assert.deepEqual(await told(['SIGINT', 5]), ['drain by SIGINT', '-']);
  });

  it('takes what npm passes on for the signal that npm and we were sent', async () => {
    const seen = await told(['SIGINT', 0], ['SIGINT', 1], ['SIGINT', sameStopMs - 2]);
    assert.deepEqual(seen, ['drain by SIGINT', '-', '-', '-']);
  });

  it('ends at once at a later one, of either kind', async () => {
    const seen = await told(['SIGTERM', 10], ['SIGINT', sameStopMs]);
    assert.deepEqual(seen, ['drain by SIGTERM', '-', 'end', '-']);
  });
});
