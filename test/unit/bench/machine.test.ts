import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { affinityOf, cpuList } from '../../../bench/machine.ts';

describe('which cores run what', () => {
  it('is left to the system below four', () => {
    assert.equal(affinityOf([]), null);
    assert.equal(affinityOf([[0], [1]]), null);
    assert.equal(affinityOf([[0], [1], [2]]), null);
    assert.equal(affinityOf([[0, 1, 2, 3]]), null);
  });

  it('is one half for the servers and one for the load', () => {
    assert.deepEqual(affinityOf([[0], [1], [2], [3]]), { servers: '0,1', load: '2,3' });
    assert.deepEqual(affinityOf([[0], [1], [2], [3], [4]]), { servers: '0,1,2', load: '3,4' });
  });

  it('never splits the two threads of one core', () => {
    const threads = [
      [0, 2],
      [1, 3],
    ];
    assert.deepEqual(affinityOf(threads), { servers: '0,2', load: '1,3' });
  });

  it('is read from lists of ranges', () => {
    assert.deepEqual(cpuList('0-2,5,7-8'), [0, 1, 2, 5, 7, 8]);
    assert.deepEqual(cpuList(''), []);
  });
});
