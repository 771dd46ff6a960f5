import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { AcmeClient } from '../../../src/acme/client.ts';
import type { CaAnswer } from '../../../src/acme/connection.ts';
import { CaRefusal, CaUnavailable } from '../../../src/acme/failures.ts';

const at = (path: string) => `https://ca.example/${path}`;
const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const never = new AbortController().signal;
const names = ['newNonce', 'newAccount', 'newOrder', 'revokeCert'];
const directory = Object.fromEntries(names.map((name) => [name, at(name)]));

/** A client of an authority that answers an order with this. */
function asking(answer: Partial<CaAnswer>, get: () => Partial<CaAnswer> = () => ({})): AcmeClient {
  const whole = (part: Partial<CaAnswer>): CaAnswer => ({
    ...{ status: 200, body: '', ...part },
    headers: { 'replay-nonce': 'n', ...part.headers },
  });
  const connection = {
    get: (address: string) =>
      Promise.resolve(
        whole({ body: address === at('dir') ? JSON.stringify(directory) : '', ...get() }),
      ),
    post: () => Promise.resolve(whole(answer)),
  };
  const who = { key, email: null, binding: null, account: at('account') };
  const onAccount = () => Promise.resolve();
  return new AcmeClient({ connection, directory: at('dir'), ...who, onAccount });
}

const problem = (type: string, detail: string) =>
  JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail });

async function failureOf(client: AcmeClient): Promise<CaRefusal | CaUnavailable> {
  const error: unknown = await client.newOrder(['shop.example'], never).then(
    () => assert.fail('taken'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof CaRefusal || error instanceof CaUnavailable);
  return error;
}

describe('AcmeClient', () => {
  it('tells a limit with its time from other refusals, in words of the authority', async () => {
    const limited = await failureOf(
      asking({
        status: 429,
        headers: { 'retry-after': '120' },
        body: problem('rateLimited', 'too many'),
      }),
    );
    assert.ok(limited instanceof CaRefusal);
    assert.deepEqual([limited.type, limited.retryAfterMs], ['rateLimited', 120_000]);
    const bare = await failureOf(asking({ status: 429, body: '<html>' }));
    assert.ok(bare instanceof CaRefusal && bare.type === 'rateLimited');
    const body = JSON.stringify({
      type: 'urn:ietf:params:acme:error:compound',
      detail: 'Several\nproblems.\u0007',
      subproblems: [{ detail: 'One of a name.' }],
    });
    const { message } = await failureOf(asking({ status: 400, body }));
    assert.ok(message.endsWith('(compound): Several problems. One of a name.'), message);
  });

  it('reads a date to come again at by the clock of the authority', async () => {
    const headers = {
      'retry-after': 'Mon, 23 Nov 2099 10:00:30 GMT',
      date: 'Mon, 23 Nov 2099 10:00:00 GMT',
    };
    const error = await failureOf(asking({ status: 503, headers }));
    assert.ok(error instanceof CaUnavailable);
    assert.equal(error.retryAfterMs, 30_000);
  });

  it('takes garbage for an authority that is not there', async () => {
    const located = { location: at('order') };
    const order = { status: 'valid', authorizations: [], finalize: at('finalize') };
    for (const answer of [
      { status: 502, body: '<html>Bad gateway' },
      { status: 302, headers: { location: 'https://elsewhere.example' } },
      { status: 201, headers: located, body: 'no JSON' },
      { status: 201, headers: located, body: '[]' },
      { status: 201, headers: located, body: JSON.stringify({ ...order, status: 'sold' }) },
      { status: 201, body: JSON.stringify(order) },
      { status: 500, body: problem('serverInternal', 'down') },
    ]) {
      assert.ok((await failureOf(asking(answer))) instanceof CaUnavailable, JSON.stringify(answer));
    }
    const mute = asking({}, () => ({ body: '{}' }));
    assert.ok((await failureOf(mute)) instanceof CaUnavailable);
  });

  it('gives up where no nonce is ever good', async () => {
    const error = await failureOf(asking({ status: 400, body: problem('badNonce', 'again') }));
    assert.ok(error instanceof CaRefusal && error.type === 'badNonce');
  });
});
