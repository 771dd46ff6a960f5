import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { openPortCalls } from '../../../src/lib/port-calls.ts';
import { joinTally, Tally, type TallyCalls, TallyRelay } from '../../../src/lib/shared-tally.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

function setUp() {
  const clock = new ManualClock();
  const relay = new TallyRelay();
  let messages = 0;
  const threads = Array.from({ length: 3 }, () => {
    const { port1, port2 } = new MessageChannel();
    const logger = memoryLogger();
    const home = openPortCalls<TallyCalls, TallyCalls>(port1, { logger });
    const calls = openPortCalls<TallyCalls, TallyCalls>(port2, { logger });
    port1.on('message', () => (messages += 1));
    opened.push(home, calls);
    relay.join(home);
    return { tally: joinTally(calls, clock), calls };
  });
  const [one, other, third] = threads;
  assert.ok(one && other && third);
  return { clock, one, other, third, threads, messages: () => messages };
}

describe('Tally', () => {
  it('counts what was added and not removed', () => {
    const tally = new Tally();
    tally.add('a');
    tally.add('a');
    tally.add('b');
    tally.remove('b');
    assert.deepEqual([tally.count('a'), tally.count('b'), tally.count('c')], [2, 0, 0]);
    assert.deepEqual([...tally.entries()], [['a', 2]]);
  });

  it('counts on every thread what is under way on any', async () => {
    const { clock, one, other, third, threads } = setUp();
    one.tally.add('a');
    one.tally.add('a');
    other.tally.add('a');
    assert.deepEqual(
      threads.map(({ tally }) => tally.count('a')),
      [2, 1, 0],
    );
    await clock.advance(20);
    await eventually('all know', () => threads.every(({ tally }) => tally.count('a') === 3));
    one.tally.remove('a');
    third.tally.add('b');
    await clock.advance(20);
    await eventually('all know', () =>
      threads.every(({ tally }) => tally.count('a') === 2 && tally.count('b') === 1),
    );
    one.tally.remove('a');
    other.tally.remove('a');
    await clock.advance(20);
    await eventually('all know', () => threads.every(({ tally }) => tally.count('a') === 0));
  });

  it('tells nothing of what began and ended meanwhile', async () => {
    const { clock, one, other, messages } = setUp();
    for (let i = 0; i < 10; i += 1) one.tally.add('a');
    for (let i = 0; i < 10; i += 1) one.tally.remove('a');
    await clock.advance(10_000);
    one.tally.add('b');
    await clock.advance(20);
    await eventually('the others know', () => other.tally.count('b') === 1);
    assert.equal(messages(), 1);
  });

  it('forgets what a thread that is gone had under way', async () => {
    const { clock, one, other, third } = setUp();
    one.tally.add('a');
    other.tally.add('a');
    await clock.advance(20);
    await eventually('all know', () => third.tally.count('a') === 2);
    one.calls.close();
    await eventually('it is forgotten', () => third.tally.count('a') === 1);
    await eventually('it is forgotten', () => other.tally.count('a') === 1);
  });
});
