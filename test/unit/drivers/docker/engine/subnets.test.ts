import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { freeAddress, planOf } from '../../../../../src/drivers/docker/engine/subnets.ts';

describe('planOf()', () => {
  it('leaves the daemon the upper half, and takes the first address for the gateway', () => {
    assert.deepEqual(planOf('172.18.0.0/16'), { gateway: '172.18.0.1', range: '172.18.128.0/17' });
    assert.deepEqual(planOf('192.168.16.0/20'), {
      gateway: '192.168.16.1',
      range: '192.168.24.0/21',
    });
    assert.deepEqual(planOf('10.214.255.0/24'), {
      gateway: '10.214.255.1',
      range: '10.214.255.128/25',
    });
  });

  it('refuses what it cannot share out', () => {
    for (const subnet of ['10.0.0.0/29', 'fd00::/64', '10.0.0.0', '0.0.0.0/0']) {
      assert.throws(() => planOf(subnet), /Cannot share out/);
    }
  });
});

describe('freeAddress()', () => {
  it('gives every address of the lower half once, and never one that the daemon gives', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (pick) => {
        const subnet = '10.1.2.0/27';
        const { gateway, range } = planOf(subnet);
        const daemons = new BlockList();
        daemons.addSubnet(range.split('/')[0] ?? '', Number(range.split('/')[1]), 'ipv4');
        const taken = new Set<string>();
        for (let i = 0; i < 14; i++) {
          const address = freeAddress(subnet, taken, pick);
          assert.ok(address !== null && !taken.has(address));
          assert.ok(!daemons.check(address) && address !== gateway && address !== '10.1.2.0');
          taken.add(address);
        }
        assert.equal(freeAddress(subnet, taken, pick), null);
      }),
    );
  });

  it('does not begin with the one that was just given back', () => {
    assert.notEqual(
      freeAddress('172.18.0.0/16', new Set(), 0.1),
      freeAddress('172.18.0.0/16', new Set(), 0.2),
    );
  });
});
