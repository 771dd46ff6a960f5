import assert from 'node:assert/strict';
import { it } from 'node:test';

import { mayGiveUids } from '../../../../src/lib/processes/program-uids.ts';

it('mayGiveUids() is for root alone, and where the ids of programs are mapped', () => {
  assert.equal(mayGiveUids(0, '         0          0 4294967295\n'), true);
  assert.equal(mayGiveUids(1000, '0 0 4294967295\n'), false);
  assert.equal(mayGiveUids(0, '0 0 1\n'), false);
  assert.equal(mayGiveUids(0, '0 1000 1\n1 100000 65536\n'), false);
  assert.equal(mayGiveUids(0, '0 1000 1\n1 100000 500000\n'), true);
});
