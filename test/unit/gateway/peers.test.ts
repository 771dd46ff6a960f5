import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Peers } from '../../../src/gateway/peers.ts';

describe('Peers', () => {
  it('knows the address of each connection while all have the same', () => {
    const peers = new Peers();
    peers.opened('10.0.0.1');
    peers.opened('10.0.0.1');
    assert.equal(peers.only, '10.0.0.1');
    peers.closed();
    assert.equal(peers.only, '10.0.0.1');
  });

  it('says nothing from the second address on until no connection is left', () => {
    const peers = new Peers();
    peers.opened('10.0.0.1');
    peers.opened('10.0.0.2');
    assert.equal(peers.only, null);
    peers.closed();
    peers.opened('10.0.0.1');
    assert.equal(peers.only, null);
    peers.closed();
    peers.closed();
    peers.opened('10.0.0.3');
    assert.equal(peers.only, '10.0.0.3');
  });
});
