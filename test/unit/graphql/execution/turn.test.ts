import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Turn } from '../../../../src/graphql/execution/pace.ts';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('Turn', () => {
  it('has room until as much was spent as it may take', () => {
    const turn = new Turn(1_000);
    assert.equal(turn.hasRoom(1_000), true);
    assert.equal(turn.hasRoom(1_001), false);
    turn.spend(600);
    assert.equal(turn.hasRoom(400), true);
    assert.equal(turn.hasRoom(401), false);
  });

  it('has all of its room again in the next turn of the loop, however much was spent', async () => {
    const turn = new Turn(1_000);
    for (let i = 0; i < 3; i++) {
      turn.spend(5_000);
      turn.spend(1);
      assert.equal(turn.hasRoom(0), false);
      await nextTurn();
      assert.equal(turn.hasRoom(1_000), true);
    }
  });
});
