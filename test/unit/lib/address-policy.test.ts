import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AddressPolicy, innerAddress } from '../../../src/lib/address-policy.ts';

const strict = new AddressPolicy({ privateNetworks: [] });

describe('AddressPolicy', () => {
  const refused = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:a9fe:a9fe',
    '::127.0.0.1',
    '64:ff9b::10.0.0.1',
    '2002:7f00:1::',
    '2001:db8::1',
    '2001::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1%eth0',
    'ff02::1',
    '4000::1',
    'localhost',
    '',
  ];
  for (const address of refused) {
    it(`refuses "${address}"`, () => {
      assert.equal(strict.admit(address, 443), 'refused');
    });
  }

  for (const address of ['1.1.1.1', '172.32.0.1', '2606:4700::1111', '::ffff:1.1.1.1']) {
    it(`takes ${address} for public`, () => {
      assert.equal(strict.admit(address, 443), 'public');
    });
  }

  it('admits what the operator names, but never link-local addresses', () => {
    const policy = new AddressPolicy({
      privateNetworks: ['10.0.0.0/8', '169.254.0.0/16', 'fd12::/16'],
    });
    assert.equal(policy.admit('10.1.2.3', 80), 'private');
    assert.equal(policy.admit('::ffff:10.1.2.3', 80), 'private');
    assert.equal(policy.admit('fd12::1', 80), 'private');
    assert.equal(policy.admit('192.168.1.1', 80), 'refused');
    assert.equal(policy.admit('169.254.169.254', 80), 'refused');
  });

  it('never leads to our own ports on this machine', () => {
    const policy = new AddressPolicy({ privateNetworks: ['127.0.0.0/8'], ownPorts: () => [3000] });
    assert.equal(policy.admit('127.0.0.1', 3000), 'refused');
    assert.equal(policy.admit('127.9.9.9', 3000), 'refused');
    assert.equal(policy.admit('127.0.0.1', 3001), 'private');
  });
});

describe('innerAddress()', () => {
  it('finds the IPv4 address that an IPv6 one leads to', () => {
    assert.equal(innerAddress('::ffff:192.0.2.1'), '192.0.2.1');
    assert.equal(innerAddress('[::ffff:c000:201]'), '192.0.2.1');
    assert.equal(innerAddress('64:ff9b::c000:201'), '192.0.2.1');
    assert.equal(innerAddress('2002:c000:201::1'), '192.0.2.1');
    assert.equal(innerAddress('2606:4700::1'), '2606:4700::1');
  });
});
