import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Turns } from '../../../bench/turns.ts';

describe('Turns', () => {
  it('lets one side run at a time, in turn from round to round', async () => {
    const turns = new Turns();
    const order: string[] = [];
    const side = (name: string, rounds: number) => async () => {
      order.push(`${name} set up`);
      for (let i = 0; i < rounds; i++) {
        await turns.next();
        order.push(`${name}${i}`);
        // Whatever a round waits for, the other side does not begin meanwhile.
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`${name}${i} over`);
      }
      return name;
    };
    assert.deepEqual(await turns.run(side('a', 2), side('b', 3)), ['a', 'b']);
    assert.deepEqual(order, [
      'a set up',
      'b set up',
      'a0',
      'a0 over',
      'b0',
      'b0 over',
      'a1',
      'a1 over',
      'b1',
      'b1 over',
      'b2',
      'b2 over',
    ]);
  });

  it('ends both sides with the first failure', async () => {
    const turns = new Turns();
    let rounds = 0;
    const fails = async (): Promise<void> => {
      await turns.next();
      throw new Error('the server died');
    };
    const goesOn = async (): Promise<void> => {
      for (;;) {
        await turns.next();
        rounds += 1;
      }
    };
    await assert.rejects(turns.run(fails, goesOn), /the server died/);
    assert.equal(rounds, 0);
    const late = new Turns();
    await assert.rejects(
      late.run(async () => {
        throw new Error('at once');
      }, goesOn),
      /at once/,
    );
  });
});
