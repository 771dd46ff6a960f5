import assert from 'node:assert/strict';
import { it } from 'node:test';

import { misfitOf } from '../../../src/protocol/agent-version.ts';

it('misfitOf() takes one minor release more or less, whatever its patch', () => {
  for (const agent of ['1.4.0', '1.3.9', '1.5.0', '1.4.2-rc.1', '1.5.1+build']) {
    assert.equal(misfitOf('1.4.1', agent), null, agent);
  }
});

it('misfitOf() says which of the two is to be updated', () => {
  for (const older of ['1.2.9', '0.9.0', '0.4.1']) {
    assert.match(misfitOf('1.4.1', older) ?? '', /Update the agent\.$/, older);
  }
  for (const newer of ['1.6.0', '2.4.0', '2.0.0']) {
    assert.match(misfitOf('1.4.1', newer) ?? '', /Update Gangway first\.$/, newer);
  }
});

it('misfitOf() takes nothing that is no release', () => {
  for (const none of ['', '1', '1.4', 'v1.4.1', '1.4.1\n', '1.4.x', `1.4.${'9'.repeat(99)}`]) {
    assert.match(misfitOf('1.4.1', none) ?? '', /does not say/, none);
  }
});
