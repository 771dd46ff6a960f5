/** What OAuth refuses: redirect URIs and requests with a trick in them, documents, floods of clients. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { Client } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import * as oauth from '../support/oauth.ts';
import { redirectUri } from '../support/oauth.ts';

const later = cleanups();
let gangway: Gangway;
let clientId: string;
/** Documents about clients, on an address that only the operator's word admits. */
let documents: Server;
let documentsUrl: string;
let asked: string[] = [];

before(async () => {
  documents = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const client_id = documentsUrl + path;
    const body = { client_id, client_name: 'By document', redirect_uris: [redirectUri] };
    const json = { 'content-type': 'application/json' };
    if (path === '/moved.json') response.writeHead(302, { location: '/client.json' }).end();
    else if (path === '/huge.json') response.writeHead(200, json).end(' '.repeat(70_000) + '{}');
    else if (path === '/text.json') response.writeHead(200).end(JSON.stringify(body));
    else if (path === '/other.json') {
      response.writeHead(200, json).end(JSON.stringify({ ...body, client_id: 'https://a.test/b' }));
    } else response.writeHead(200, json).end(JSON.stringify(body));
  });
  later(() => documents.close());
  await new Promise<void>((resolve) => documents.listen(0, '127.0.0.2', resolve));
  documentsUrl = `http://127.0.0.2:${String((documents.address() as AddressInfo).port)}`;
  gangway = await Gangway.open({
    env: { GANGWAY_PRIVATE_NETWORKS: '127.0.0.2/32', GANGWAY_TRUSTED_PROXIES: '127.0.0.1' },
  });
  later(() => gangway.end());
  const { status, body } = await oauth.register(gangway.url);
  assert.equal(status, 201);
  clientId = body.client_id;
});

const authorizeUrl = (query: string): string => `/api/auth/oauth2/authorize?${query}`;

/** The client is told, with its state; nobody is shown a consent page. */
async function assertRefusedTo(query: string, error: string): Promise<void> {
  const { headers } = await gangway.client.ask(authorizeUrl(query));
  const to = headers.get('location') ?? '';
  assert.ok(to.startsWith(`${redirectUri}?`) || to.startsWith(`${redirectUri}#`), to);
  // What was asked for as a token is answered behind the fragment (OAuth 2.0, 4.2.2.1).
  const { searchParams, hash } = new URL(to);
  const told = hash === '' ? searchParams : new URLSearchParams(hash.slice(1));
  assert.equal(told.get('error'), error, query);
  assert.equal(told.get('state'), 'a-state');
}

describe('a request for authorization', () => {
  const tricks = {
    'a suffix': `${redirectUri}/more`,
    'a longer host': 'http://127.0.0.1.evil.test/callback',
    'a user name': 'http://127.0.0.1@evil.test/callback',
    'a fragment': `${redirectUri}#there`,
    'another path': 'http://127.0.0.1:53127/other',
    'another scheme': 'https://127.0.0.1:53127/callback',
    'a query': `${redirectUri}?x=1`,
    'no address at all': '',
  };
  for (const [name, uri] of Object.entries(tricks)) {
    it(`leads nowhere with ${name} in the redirect URI`, async () => {
      const over = { redirect_uri: uri };
      const query = oauth.authorizationQuery(clientId, oauth.pkce().challenge, over);
      const { status, headers } = await gangway.client.ask(authorizeUrl(query));
      assert.equal(status, 400);
      assert.equal(headers.get('location'), null);
    });
  }

  it('holds a redirect URI that is no loopback to its port', async () => {
    const { body } = await oauth.register(gangway.url, { redirect_uris: ['https://a.test/cb'] });
    const over = { redirect_uri: 'https://a.test:8443/cb' };
    const query = oauth.authorizationQuery(body.client_id, oauth.pkce().challenge, over);
    assert.equal((await gangway.client.ask(authorizeUrl(query))).status, 400);
  });

  const errors: [string, Record<string, string>, string][] = [
    ['with empty PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['with plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['for a scope there is not', { scope: 'root' }, 'invalid_scope'],
    ['for another resource', { resource: 'https://other.test' }, 'invalid_target'],
    ['for a token at once', { response_type: 'token' }, 'unsupported_response_type'],
  ];
  for (const [name, over, error] of errors) {
    it(`refuses a request ${name}`, async () => {
      const query = oauth.authorizationQuery(clientId, oauth.pkce().challenge, over);
      await assertRefusedTo(query, error);
    });
  }

  // RFC 9700, 2.1.1; the library would excuse some clients with a secret, and some with a nonce.
  it('refuses a request without PKCE, with half of it, of a client with a secret, and with a nonce', async () => {
    const method = { token_endpoint_auth_method: 'client_secret_basic' };
    const { body } = await oauth.register(gangway.url, method);
    const nonce = { scope: 'openid offline_access view_logs', nonce: 'a-nonce' };
    for (const id of [clientId, body.client_id]) {
      for (const over of [{}, { scope: 'view_logs' }, nonce]) {
        const whole = new URLSearchParams(
          oauth.authorizationQuery(id, oauth.pkce().challenge, over),
        );
        const led = await gangway.client.ask(authorizeUrl(whole.toString()));
        assert.match(led.headers.get('location') ?? '', /^\/api\/auth\/oauth2\/consent\?/);
        const both = ['code_challenge', 'code_challenge_method'];
        for (const left of [both, both.slice(0, 1), both.slice(1)]) {
          const query = new URLSearchParams(whole);
          for (const name of left) query.delete(name);
          await assertRefusedTo(query.toString(), 'invalid_request');
        }
      }
    }
  });

  it('shows and takes a consent in the session that asked for it, and in no other', async () => {
    const path = '/api/auth/oauth2/consent';
    const query = oauth.authorizationQuery(clientId, oauth.pkce().challenge);
    const { headers } = await gangway.client.ask(authorizeUrl(query));
    const page = headers.get('location') ?? '';
    const form = await oauth.consentForm(gangway.client, authorizeUrl(query));
    // The same person, signed in once more.
    const elsewhere = await gangway.signIn();
    assert.equal((await elsewhere.ask(page)).status, 400);
    for (const decision of ['allow', 'deny']) {
      form.set('decision', decision);
      const { status } = await elsewhere.ask(path, { method: 'POST', body: form });
      assert.equal(status, 400, decision);
    }
    form.set('decision', 'allow');
    assert.equal((await gangway.client.ask(path, { method: 'POST', body: form })).status, 303);
  });

  it('refuses a consent that was tampered with, or sent by another site', async () => {
    const query = oauth.authorizationQuery(clientId, oauth.pkce().challenge);
    const form = await oauth.consentForm(gangway.client, authorizeUrl(query));
    form.set('decision', 'allow');
    const forged = new URLSearchParams(form);
    const inner = new URLSearchParams(form.get('request') ?? '');
    inner.set('redirect_uri', 'http://127.0.0.1:1/callback');
    forged.set('request', inner.toString());
    const path = '/api/auth/oauth2/consent';
    const tampered = await gangway.client.ask(path, { method: 'POST', body: forged });
    assert.equal(tampered.status, 400);
    const headers = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
    const foreign = await gangway.client.ask(path, { method: 'POST', body: form, headers });
    assert.equal(foreign.status, 403);
    const unsigned = await new Client(gangway).ask(path, { method: 'POST', body: form });
    assert.equal(unsigned.status, 401);
    form.set('team', 'team_of_somebody_else');
    assert.equal((await gangway.client.ask(path, { method: 'POST', body: form })).status, 404);
  });

  it('lets one request be consented to once, also when it is sent twice at once', async () => {
    const query = oauth.authorizationQuery(clientId, oauth.pkce().challenge);
    const form = await oauth.consentForm(gangway.client, authorizeUrl(query));
    form.set('decision', 'allow');
    const path = '/api/auth/oauth2/consent';
    const answers = await Promise.all(
      [0, 1, 2].map(() => gangway.client.ask(path, { method: 'POST', body: form })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400, 400]);
  });
});

describe('documents about clients', () => {
  const ask = (path: string, person: Client = gangway.client): ReturnType<Client['ask']> => {
    const id = path.startsWith('http') ? path : documentsUrl + path;
    return person.ask(authorizeUrl(oauth.authorizationQuery(id, oauth.pkce().challenge)));
  };

  it('connect a client by its address, once somebody signed in asks for it', async () => {
    asked = [];
    const anonymous = await ask('/client.json', new Client(gangway));
    assert.match(anonymous.headers.get('location') ?? '', /^\/login/);
    assert.deepEqual(asked, []);
    const { redeem } = await oauth.authorized(gangway.client, `${documentsUrl}/client.json`);
    const tokens = await oauth.tokensOf(redeem());
    assert.equal(await oauth.works(gangway, tokens.access_token), true);
    // Read once for the whole of it.
    assert.deepEqual(asked, ['/client.json']);
  });

  for (const path of ['/moved.json', '/huge.json', '/text.json', '/other.json']) {
    it(`are refused as ${path}`, async () => {
      asked = [];
      const { status, headers } = await ask(path);
      assert.equal(status, 400);
      assert.equal(headers.get('location'), null);
      assert.deepEqual(asked, [path]);
    });
  }

  it('are not fetched from addresses that are not admitted', async () => {
    const { port } = new URL(documentsUrl);
    const addresses = [
      `http://127.0.0.1:${port}/client.json`,
      `https://localhost:${port}/client.json`,
      `http://[::ffff:127.0.0.1]:${port}/client.json`,
      'http://169.254.169.254/latest/meta-data',
      `${gangway.url}/client.json`,
    ];
    asked = [];
    for (const address of addresses) {
      const { status, headers } = await ask(address);
      assert.equal(status, 400, address);
      assert.equal(headers.get('location'), null);
    }
    assert.deepEqual(asked, []);
  });
});

describe('registration', () => {
  // It is limited for each address.
  const address = '203.0.113.9';
  const register = (over: Record<string, unknown> = {}) =>
    oauth.register(gangway.url, over, address);

  it('refuses redirect URIs that cannot be trusted, what is too large, and the eleventh', async () => {
    const bad = [
      ['http://a.test/cb'],
      ['https://a.test/cb#x'],
      ['https://user@a.test/cb'],
      ['javascript:alert(1)'],
      ['http://127.0.0.1.evil.test/cb'],
    ];
    for (const redirect_uris of bad) {
      const { status, body } = await register({ redirect_uris });
      assert.equal(status, 400, redirect_uris.join());
      assert.match(String(body['error']), /^invalid_(redirect_uri|client_metadata)$/);
    }
    const large = await register({ client_name: 'x'.repeat(20_000) });
    assert.equal(large.status, 413);
    for (let i = bad.length + 1; i < 10; i++) {
      assert.equal((await register()).status, 201);
    }
    const { status, headers, body } = await register();
    assert.equal(status, 429);
    assert.ok(Number(headers.get('retry-after')) > 0);
    assert.deepEqual([body['code'], body['error']], ['RATE_LIMITED', 'too_many_requests']);
  });
});
