import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Holdings } from '../../../../../src/programs/edge/http2/holdings.ts';
import { settle } from '../../../../support/manual-clock.ts';

describe('Holdings', () => {
  it('end, of the client that holds most, the session that holds most', async () => {
    const ended: string[] = [];
    const holdings = new Holdings(1000);
    const open = (client: string, name: string) =>
      holdings.open(client, () => ended.push(`${client} ${name}`));
    const [alone, small, large] = [open('a', 'alone'), open('b', 'small'), open('b', 'large')];
    alone.add(400);
    small.add(290);
    large.add(310);
    await settle();
    assert.deepEqual(ended, []);
    alone.add(1);
    await settle();
    assert.deepEqual(ended, ['b large']);
    // What it gives back meanwhile is counted once.
    large.add(-310);
    small.add(310);
    await settle();
    assert.deepEqual(ended, ['b large', 'b small']);
    small.close();
    alone.add(599);
    await settle();
    assert.equal(ended.length, 2);
    alone.add(1);
    await settle();
    assert.deepEqual(ended.at(-1), 'a alone');
  });

  it('are tight from half of the bound on, until less is held', () => {
    const holdings = new Holdings(1000);
    const fail = (): void => assert.fail();
    const [one, other] = [holdings.open('a', fail), holdings.open('b', fail)];
    one.add(500);
    assert.equal(other.isTight, false);
    one.add(1);
    assert.deepEqual([one.isTight, other.isTight], [true, true]);
    one.close();
    assert.equal(other.isTight, false);
  });
});
