import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';

import { systemClock } from '../../../../src/lib/clock.ts';
import { endPolitely, killAll } from '../../../../src/lib/processes/ending.ts';
import type { Membership } from '../../../../src/lib/processes/processes.ts';

/** Beyond what the kernel gives. */
const firstPid = 2 ** 23;

describe('ending many processes', () => {
  let living: Set<number>;
  /** Of each turn of the loop and each signal, how many were sent. */
  let sent: Map<string, number>;
  let counting: NodeJS.Immediate;
  let membership: Membership;

  beforeEach(() => {
    living = new Set(Array.from({ length: 1000 }, (_, at) => firstPid + at));
    sent = new Map();
    let turn = 0;
    const count = (): void => {
      turn++;
      counting = setImmediate(count);
    };
    counting = setImmediate(count);
    mock.method(process, 'kill', (pid: number, signal: string) => {
      assert.ok(living.has(pid));
      const key = `${signal} ${String(turn)}`;
      sent.set(key, (sent.get(key) ?? 0) + 1);
      if (signal !== 'SIGSTOP') living.delete(pid);
      return true;
    });
    const group = { pids: () => [...living], kill: () => undefined };
    membership = { mark: 'm', first: null, group };
  });
  afterEach(() => {
    clearImmediate(counting);
    mock.restoreAll();
  });

  const sentOf = (signal: string): number[] =>
    [...sent].flatMap(([key, count]) => (key.startsWith(signal) ? [count] : []));

  it('stops them all, some in a turn, before it kills them, some in a turn', async () => {
    await killAll(membership, systemClock);
    assert.deepEqual(sentOf('SIGSTOP'), [256, 256, 256, 232]);
    assert.deepEqual(sentOf('SIGKILL'), [256, 256, 256, 232]);
    assert.equal(living.size, 0);
  });

  it('tells them to end some in a turn', async () => {
    await endPolitely(membership, 60_000, systemClock);
    assert.deepEqual(sentOf('SIGTERM'), [256, 256, 256, 232]);
  });
});
