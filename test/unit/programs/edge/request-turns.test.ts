import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { RequestTurns, TargetTurns } from '../../../../src/programs/edge/request-turns.ts';

describe('RequestTurns', () => {
  /** Asks in the order of `names`; tells which have begun. */
  function ask(
    turns: RequestTurns,
    at: TargetTurns,
    names: readonly string[],
    begun: string[],
    cost = 4,
  ): void {
    for (const name of names) turns.take(at, cost, { go: () => void begun.push(name) });
  }

  it('begins so many requests of a target in a turn, in their order', async () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    const names = Array.from({ length: 10 }, (_each, at) => String(at));
    ask(turns, new TargetTurns(), names, begun);
    for (const expected of [4, 8, 10]) {
      assert.deepEqual(begun, names.slice(0, expected));
      await setImmediate();
    }
  });

  it('begins four times as many where connections are kept', () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    ask(turns, new TargetTurns(), Array<string>(100).fill('kept'), begun, 1);
    assert.equal(begun.length, 16);
  });

  it('begins others at once, however many wait for one target', () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    ask(turns, new TargetTurns(), Array<string>(1000).fill('flood'), begun);
    ask(turns, new TargetTurns(), ['quiet'], begun);
    assert.deepEqual(begun, ['flood', 'flood', 'flood', 'flood', 'quiet']);
  });

  it('bounds what begins for all targets, which take turns', async () => {
    const turns = new RequestTurns();
    const begun: string[] = [];
    const names = Array<string>(8).fill('one');
    for (let i = 0; i < 8; i++)
      ask(
        turns,
        new TargetTurns(),
        names.map(() => String(i)),
        begun,
      );
    for (let turn = 1; turn <= 4; turn++) {
      assert.equal(begun.length, turn * 16);
      await setImmediate();
    }
    assert.ok(
      Object.values(Object.groupBy(begun, (name) => name)).every((all) => all?.length === 8),
    );
  });
});
