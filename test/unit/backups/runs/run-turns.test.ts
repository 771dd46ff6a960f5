import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RunTurns } from '../../../../src/backups/runs/run-turns.ts';
import { settle } from '../../../support/manual-clock.ts';

const never = new AbortController().signal;

describe('RunTurns', () => {
  it('lets so many run at a time, and teams take turns', async () => {
    const turns = new RunTurns(2);
    const begun: string[] = [];
    const held: (() => void)[] = [];
    const ask = (team: string, name: string): void => {
      void turns.take(team, never).then((leave) => {
        begun.push(name);
        held.push(leave);
      });
    };
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask('a', name);
    ask('b', 'b1');
    await settle();
    assert.deepEqual(begun, ['a1', 'a2']);
    for (let i = 0; i < 3; i++) {
      held.shift()?.();
      await settle();
    }
    assert.deepEqual(begun.slice(0, 4).includes('b1'), true);
    assert.equal(begun.length, 5);
  });

  it('takes no turn for what was called off, and none back twice', async () => {
    const turns = new RunTurns(1);
    const leave = await turns.take('a', never);
    const stop = new AbortController();
    const waiting = turns.take('a', stop.signal);
    const after = turns.take('a', never);
    stop.abort(new Error('canceled'));
    await assert.rejects(waiting, { message: 'canceled' });
    await assert.rejects(turns.take('a', stop.signal), { message: 'canceled' });
    leave();
    leave();
    await after;
    let third = false;
    void turns.take('a', never).then(() => (third = true));
    await settle();
    assert.equal(third, false);
  });
});
