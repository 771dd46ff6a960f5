import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { RequestTurns } from '../../../../src/programs/edge/request-turns.ts';
import type { Target } from '../../../../src/protocol/edge-messages.ts';

function target(port: number): Target {
  return { host: '127.0.0.1', port };
}

describe('RequestTurns', () => {
  /** Asks in the order of `names`; tells which have begun. */
  function ask(turns: RequestTurns, at: Target, names: readonly string[], begun: string[]): void {
    for (const name of names) {
      const turn = turns.wait(at);
      if (turn === undefined) begun.push(name);
      else void turn.then(() => begun.push(name));
    }
  }

  it('begins one request of a target in a turn, in their order', async () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    ask(turns, target(1), ['1', '2', '3'], begun);
    for (const expected of [['1'], ['1', '2'], ['1', '2', '3']]) {
      assert.deepEqual(begun, expected);
      await setImmediate();
    }
    ask(turns, target(1), ['4'], begun);
    assert.equal(begun.length, 4);
  });

  it('begins others at once, however many wait for one target', () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    ask(turns, target(1), Array<string>(1000).fill('flood'), begun);
    ask(turns, target(2), ['quiet'], begun);
    assert.deepEqual(begun, ['flood', 'quiet']);
  });

  it('bounds what begins for all targets, which take turns', async () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    for (let i = 0; i < 8; i++)
      ask(turns, target(i), [`${String(i)} first`, `${String(i)} second`], begun);
    for (let turn = 1; turn <= 4; turn++) {
      assert.equal(begun.length, turn * 4);
      await setImmediate();
    }
    const ofEach = Map.groupBy(begun, (name) => name.slice(2));
    assert.deepEqual(
      [...ofEach.values()].map(({ length }) => length),
      [8, 8],
    );
  });
});
