import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Crowd } from '../../../src/graphql/crowd.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('Crowd', () => {
  it('takes who comes alone, turn after turn, for alone', async () => {
    const crowd = new Crowd();
    for (let i = 0; i < 3; i++) {
      assert.equal(crowd.join(), true);
      await turn();
    }
  });

  it('knows a crowd by its second one, and in the turn after it', async () => {
    const crowd = new Crowd();
    assert.deepEqual([crowd.join(), crowd.join(), crowd.join()], [true, false, false]);
    await turn();
    assert.equal(crowd.join(), false);
    await turn();
    assert.equal(crowd.join(), true);
  });
});
