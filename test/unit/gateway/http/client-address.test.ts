import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  clientAddress,
  edgePeer,
  textAddress,
  type ClientAddress,
} from '../../../../src/gateway/http/client-address.ts';
import { networks } from '../../../../src/lib/networks.ts';

const rules = {
  trusted: networks(['10.0.0.0/8', '127.0.0.1', '2001:db8::/32']),
  namesUs: (host: string) => host === 'us',
};

function seen(peer: string, headers: Record<string, string> = {}): ClientAddress {
  const head = {
    query: '',
    header: (name: string) => headers[name] ?? (name === 'host' ? 'us' : ''),
    headerCount: (name: string) => (name in headers ? 1 : 0),
  };
  return clientAddress(peer, head, rules);
}

describe('clientAddress()', () => {
  it('is the peer when no proxy speaks', () => {
    assert.deepEqual(seen('127.0.0.1'), {
      address: '127.0.0.1',
      fromLoopback: true,
      secure: false,
    });
    assert.equal(seen('192.0.2.1').fromLoopback, false);
    assert.equal(seen('::1').fromLoopback, true);
  });

  it('does not believe a workload of this machine, which no larger network means', () => {
    const headers = { 'x-forwarded-for': '127.0.0.1' };
    const { address, fromLoopback } = seen('10.213.0.1', headers);
    assert.deepEqual([address, fromLoopback], ['10.213.0.1', false]);
    assert.equal(seen('10.212.0.1', headers).address, '127.0.0.1');
    assert.equal(networks(['10.213.0.1', '10.0.0.0/8'])('10.213.0.1'), true);
  });

  it('does not believe a peer outside the trusted networks', () => {
    const headers = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https' };
    assert.deepEqual(seen('192.0.2.1', headers), {
      address: '192.0.2.1',
      fromLoopback: false,
      secure: false,
    });
  });

  it('takes what the edge says, whose visitors are never on this machine', () => {
    const trusted = (address: string): boolean => address === edgePeer;
    const head = {
      ...{ query: '', headerCount: () => 1 },
      header: (name: string) =>
        ({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https', host: 'us' })[name] ?? '',
    };
    assert.deepEqual(clientAddress(edgePeer, head, { ...rules, trusted }), {
      ...{ address: '127.0.0.1', fromLoopback: false, secure: true },
    });
    const bare = { ...head, header: (name: string) => (name === 'host' ? 'us' : '') };
    assert.equal(clientAddress(edgePeer, bare, { ...rules, trusted }).fromLoopback, false);
    assert.equal(seen(edgePeer, { 'x-forwarded-for': '192.0.2.1' }).address, edgePeer);
  });

  it('takes the last address that is not a trusted proxy', () => {
    const chain = (value: string): string => seen('10.0.0.1', { 'x-forwarded-for': value }).address;
    assert.equal(chain('198.51.100.7'), '198.51.100.7');
    assert.equal(chain('1.1.1.1, 198.51.100.7, 10.2.3.4'), '198.51.100.7');
    assert.equal(chain('198.51.100.7:1234'), '198.51.100.7');
    assert.equal(chain('[2001:db9::1]:1234'), '2001:db9::1');
    assert.equal(chain('::ffff:198.51.100.7'), '198.51.100.7');
    assert.equal(chain('::ffff:c633:6407'), '198.51.100.7');
    assert.equal(chain('0:0:0:0:0:ffff:198.51.100.7'), '198.51.100.7');
    assert.equal(chain('198.51.100.7, ::ffff:a01:203'), '198.51.100.7');
    assert.equal(chain('2001:DB9:0:0::0001'), '2001:db9::1');
    assert.equal(chain('fe80::1%eth0'), 'fe80::1');
    assert.equal(chain('10.9.9.9'), '10.9.9.9');
    assert.equal(chain('198.51.100.7, unknown'), '10.0.0.1');
    assert.equal(chain('198.51.100.7, unknown, 10.2.3.4'), '10.2.3.4');
    assert.equal(chain(''), '10.0.0.1');
  });

  it('is secure only by the word of a trusted proxy', () => {
    assert.equal(seen('10.0.0.1', { 'x-forwarded-proto': 'https' }).secure, true);
    assert.equal(seen('10.0.0.1', { 'x-forwarded-proto': 'https, http' }).secure, false);
    assert.equal(seen('10.0.0.1', { 'x-forwarded-proto': 'http' }).secure, false);
  });

  it('is not from this machine when any proxy passes it on', () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via', 'x-forwarded-host']) {
      assert.equal(seen('127.0.0.1', { [name]: '127.0.0.1' }).fromLoopback, false, name);
    }
  });

  it('is not from this machine under a Host that does not name us', () => {
    for (const peer of ['127.0.0.1', '::1']) {
      assert.equal(seen(peer, { host: 'rebound.example:3000' }).fromLoopback, false);
    }
  });
});

describe('textAddress()', () => {
  const bytes = (...values: number[]): ArrayBuffer => Uint8Array.from(values).buffer;

  it('writes IPv4, also inside IPv6, and IPv6 with the longest run of zeros cut', () => {
    assert.equal(textAddress(bytes(192, 0, 2, 1)), '192.0.2.1');
    assert.equal(
      textAddress(bytes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 1)),
      '192.0.2.1',
    );
    assert.equal(textAddress(bytes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)), '::1');
    assert.equal(
      textAddress(bytes(0x20, 1, 0x0d, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x10)),
      '2001:db8:0:1::10',
    );
    assert.equal(textAddress(bytes()), '');
  });
});
