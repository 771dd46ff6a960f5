import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { AddressPolicy } from '../../../src/lib/address-policy.ts';
import { FetchRefused, GuardedFetch, SilenceError } from '../../../src/lib/guarded-fetch.ts';

const bounds = { maxBytes: 1_000, timeoutMs: 5_000 };

let server: Server;
let port: number;
const seen: string[] = [];

before(async () => {
  server = createServer((request, response) => {
    seen.push(`${request.headers.host ?? ''}${request.url ?? ''}`);
    if (request.url === '/moved') response.writeHead(302, { location: '/there' }).end();
    else if (request.url === '/large') response.end('x'.repeat(1_001));
    else if (request.url === '/silent') response.writeHead(200).write('…');
    else if (request.url === '/mute') request.resume();
    else if (request.url === '/echo') {
      response.setHeader('x-method', request.method ?? '');
      request.pipe(response);
    } else response.end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
  port = (server.address() as AddressInfo).port;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const fetching = (addresses: string[], privateNetworks = ['127.0.0.2/32']): GuardedFetch =>
  new GuardedFetch({
    policy: new AddressPolicy({ privateNetworks }),
    resolve: () => Promise.resolve(addresses.map((address) => ({ address, family: 4 }))),
  });

const at = (path: string): string => `http://a.test:${String(port)}${path}`;
const put = { method: 'PUT', headers: {}, signal: new AbortController().signal };

describe('GuardedFetch', () => {
  it('connects to the address that was checked, under the name that was given', async () => {
    const url = `http://docs.test:${String(port)}/a`;
    const answer = await fetching(['127.0.0.2']).get(url, bounds);
    assert.equal(answer.status, 200);
    assert.equal(answer.body.toString(), 'hello');
    assert.ok(seen.includes(`docs.test:${String(port)}/a`));
  });

  it('asks nobody when one address of a name is not admitted', async () => {
    const before = seen.length;
    const url = `http://docs.test:${String(port)}/a`;
    await assert.rejects(fetching(['127.0.0.2', '127.0.0.1']).get(url, bounds), FetchRefused);
    await assert.rejects(fetching(['127.0.0.2'], []).get(url, bounds), FetchRefused);
    await assert.rejects(fetching([]).get(url, bounds), FetchRefused);
    assert.equal(seen.length, before);
  });

  it('speaks plain http only where the operator admits the address', async () => {
    const over = fetching(['1.1.1.1']).get('http://docs.test/', bounds);
    await assert.rejects(over, /Only https/);
  });

  it('follows no redirect', async () => {
    const answer = await fetching(['127.0.0.2']).get(`http://a.test:${String(port)}/moved`, bounds);
    assert.equal(answer.status, 302);
  });

  it('stops at the byte that is too much, and when it takes too long', async () => {
    const to = fetching(['127.0.0.2']);
    await assert.rejects(to.get(at('/large'), bounds), /larger than 1000 bytes/);
    await assert.rejects(to.get(at('/silent'), { ...bounds, timeoutMs: 50 }), /too long/);
  });

  it('sends a body, and answers as the response begins', async () => {
    const body = Buffer.from('sent');
    const response = await fetching(['127.0.0.2']).send(at('/echo'), { ...put, body });
    assert.equal(response.headers['x-method'], 'PUT');
    assert.equal((await buffer(response)).toString(), 'sent');
  });

  it('sends nothing to an address that is not admitted', async () => {
    const before = seen.length;
    await assert.rejects(fetching(['127.0.0.1']).send(at('/echo'), put), FetchRefused);
    assert.equal(seen.length, before);
  });

  it('ends a request to which nothing is answered, and a look-up, after the silence it was given', async () => {
    const hasty = { ...put, silenceMs: 20 };
    await assert.rejects(fetching(['127.0.0.2']).send(at('/mute'), hasty), SilenceError);
    const policy = new AddressPolicy({ privateNetworks: [] });
    const lost = new GuardedFetch({ policy, resolve: () => new Promise(() => undefined) });
    await assert.rejects(lost.send(at('/'), hasty), SilenceError);
  });

  it('ends a request and a look-up with its signal', async () => {
    const stop = new AbortController();
    const ending = { ...put, signal: stop.signal };
    const policy = new AddressPolicy({ privateNetworks: [] });
    const lost = new GuardedFetch({ policy, resolve: () => new Promise(() => undefined) });
    const all = [fetching(['127.0.0.2']).send(at('/mute'), ending), lost.send(at('/'), ending)];
    stop.abort(new Error('stopped'));
    for (const one of all) await assert.rejects(one);
  });

  for (const address of ['ftp://a.test/', 'https://user@a.test/', 'nothing', 'https://127.1/']) {
    it(`refuses ${address} unasked`, () => {
      assert.throws(() => fetching([]).checked(address), FetchRefused);
    });
  }
});
