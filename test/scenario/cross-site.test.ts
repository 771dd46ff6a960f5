import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { found } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { owner } from '../support/gangway-client.ts';
import { type PlainAnswer, plainRequest } from '../support/plain-request.ts';

type Headers = Record<string, string | string[]>;

function send(
  { port }: Gangway,
  method: string,
  path: string,
  headers: Headers,
  body = '',
): Promise<PlainAnswer> {
  return plainRequest({ port, method, path, headers, body });
}

function graphql(
  gangway: Gangway,
  headers: Headers,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<PlainAnswer> {
  const json = { 'content-type': 'application/json', ...headers };
  return send(gangway, 'POST', '/api/graphql', json, JSON.stringify({ query, variables }));
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const login =
  'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { viewer { id } } }';
const isRefused = ({ status, text }: PlainAnswer): boolean =>
  text.includes('CROSS_SITE') || (status === 403 && text.includes('another site'));

describe('requests of other sites', () => {
  let gangway: Gangway;
  let cookie = '';
  let appId = '';
  const panel = 'https://panel.example.com';

  before(async () => {
    gangway = await Gangway.open({
      env: { GANGWAY_PUBLIC_URL: panel, GANGWAY_APPS_DOMAIN: 'apps.example.com' },
    });
    cookie = gangway.client.cookie;
    appId = (await gangway.client.createApp('Shop')).id;
  });
  after(() => gangway.end());

  // What a browser, or a script, says of where the request comes from; and whether it is heard.
  const sources: [headers: Record<string, string>, heard: boolean][] = [
    [{}, true],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'Same-Origin' }, false],
    [{ 'sec-fetch-site': 'same-origin, cross-site' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: panel }, true],
    [{ origin: panel }, true],
    [{ origin: 'null' }, false],
    [{ origin: 'http://panel.example.com' }, false],
    [{ origin: `${panel}:8443` }, false],
    [{ origin: `${panel}.evil.test` }, false],
    [{ origin: 'https://evil-panel.example.com' }, false],
    [{ origin: 'https://shop.apps.example.com' }, false],
    [{ origin: 'https://panel.example.com@evil.test' }, false],
    [{ origin: `${panel}/` }, false],
    [{ origin: `${panel}, https://evil.test` }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' }, false],
    [{ 'sec-fetch-site': 'cross-site', referer: `${panel}/` }, false],
    [
      { 'sec-fetch-site': 'cross-site', host: 'panel.example.com', origin: 'https://x.test' },
      false,
    ],
  ];

  type Ask = (headers: Headers) => Promise<PlainAnswer>;
  const changes: Record<string, Ask> = {
    'a mutation': (headers) =>
      graphql(
        gangway,
        { cookie, ...headers },
        'mutation { setMcpSettings(enabled: true) { enabled } }',
      ),
    'a mutation of nobody': (headers) => graphql(gangway, headers, 'mutation { logout }'),
    'an upload': (headers) =>
      send(
        gangway,
        'POST',
        `/api/apps/${appId}/upload`,
        { cookie, 'x-upload-filename': 'a.rar', ...headers },
        'x',
      ),
    'the end of a log stream': (headers) =>
      send(gangway, 'DELETE', `/api/apps/${appId}/logs?sessionId=str_none`, { cookie, ...headers }),
    'the form that signs in': (headers) =>
      send(gangway, 'POST', '/login', { ...form, ...headers }, 'email=&password='),
    'the form of the second step': (headers) =>
      send(gangway, 'POST', '/login/two-factor', { ...form, ...headers }, 'code='),
    'the form that turns two-factor on': (headers) =>
      send(gangway, 'POST', '/account/two-factor', { cookie, ...form, ...headers }, 'password='),
    'the form that confirms it': (headers) =>
      send(
        gangway,
        'POST',
        '/account/two-factor/confirm',
        { cookie, ...form, ...headers },
        'code=',
      ),
    'the form that signs out': (headers) =>
      send(gangway, 'POST', '/logout', { ...form, ...headers }, 'x='),
    'the form of an invite': (headers) =>
      send(gangway, 'POST', '/invite/none', { ...form, ...headers }, 'name=&password='),
    'the form of a new password': (headers) =>
      send(gangway, 'POST', '/reset/none', { ...form, ...headers }, 'password='),
    'the form of a consent': (headers) =>
      send(
        gangway,
        'POST',
        '/api/auth/oauth2/consent',
        { cookie, ...form, ...headers },
        'decision=deny',
      ),
    'the form of the setup': (headers) =>
      send(gangway, 'POST', '/setup', { ...form, ...headers }, 'email='),
  };

  for (const [what, ask] of Object.entries(changes)) {
    it(`are told apart for ${what}`, async () => {
      for (const [headers, heard] of sources) {
        const answer = await ask(headers);
        const shown = `${JSON.stringify(headers)}: ${String(answer.status)} ${answer.text.slice(0, 200)}`;
        assert.equal(isRefused(answer), !heard, shown);
        if (!heard) assert.equal(answer.status, 403, shown);
      }
    });
  }

  it('are heard with a bearer token, which no page can make a browser send', async () => {
    const secret = await gangway.client.token({ capabilities: ['create_apps'] });
    const answer = await graphql(
      gangway,
      {
        authorization: `Bearer ${secret}`,
        'sec-fetch-site': 'cross-site',
        origin: 'https://evil.test',
      },
      'mutation { createApp(input: { name: "By token", source: UPLOAD }) { id } }',
    );
    assert.equal(answer.status, 200);
    assert.match(answer.text, /"createApp"/);
  });

  it('may read, which they cannot see; reading changes nothing', async () => {
    const headers = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' };
    assert.match((await graphql(gangway, headers, '{ me { email } }')).text, /me@example/);
    const mutation = encodeURIComponent('mutation { setMcpSettings(enabled: false) { enabled } }');
    const got = await send(gangway, 'GET', `/api/graphql?query=${mutation}`, headers);
    assert.ok(!got.text.includes('"enabled"'));
    for (const path of ['/logout', `/api/apps/${appId}/upload`]) {
      assert.equal((await send(gangway, 'GET', path, headers)).status, 405, path);
    }
    for (const path of ['/login', '/', '/setup', '/invite/none', '/reset/none']) {
      const { status } = await send(gangway, 'GET', path, headers);
      assert.ok(
        status === 200 || status === 303 || status === 302 || status === 404,
        `${path} ${String(status)}`,
      );
    }
    const { text } = await graphql(gangway, { cookie }, '{ mcpSettings { enabled } me { id } }');
    assert.match(text, /"enabled":true/);
  });

  it('are refused with two cookies of the name, in one header or in two', async () => {
    const query = '{ me { id } }';
    const twice = [
      `${cookie}; ${cookie}`,
      `service.session_token=x; ${cookie}`,
      [cookie, 'service.session_token=y'],
    ];
    for (const cookies of twice) {
      const answer = await graphql(gangway, { cookie: cookies }, query);
      assert.equal(answer.status, 400, String(cookies));
    }
    const beside = await graphql(
      gangway,
      { cookie: `other=1; ${cookie}; xservice.session_token=2` },
      query,
    );
    assert.match(beside.text, /"id":/);
  });

  it('come easier from apps of the same site, which a start warns of', () => {
    const [warning, ...more] = gangway.logged('apps_share_the_panels_site');
    assert.deepEqual(
      [warning?.['panel'], warning?.['appsDomain'], more],
      ['panel.example.com', 'apps.example.com', []],
    );
  });

  it('cannot read answers: there is no CORS', async () => {
    const headers = { cookie, origin: 'https://evil.test' };
    const answer = await graphql(gangway, headers, '{ me { id } }');
    assert.equal(answer.headers['access-control-allow-origin'], undefined);
  });
});

describe('what proxies say', () => {
  let gangway: Gangway;
  let cookie = '';
  const proxies = '127.0.0.1, 10.0.0.0/8, 2001:db8::/32';

  before(async () => {
    gangway = await Gangway.open({ env: { GANGWAY_TRUSTED_PROXIES: proxies } });
    cookie = gangway.client.cookie;
  });
  after(() => gangway.end());

  /** The address that a request with these headers is recorded under. */
  async function addressOf(headers: Headers, place = gangway, as = cookie): Promise<unknown> {
    const set = 'mutation { setMcpSettings(enabled: true) { enabled } }';
    const answer = await graphql(place, { ...headers, cookie: as }, set);
    assert.equal(answer.status, 200, answer.text);
    const { text } = await graphql(
      place,
      { cookie: as },
      '{ activity(first: 1) { nodes { action details } } }',
    );
    const { data } = JSON.parse(text) as {
      data: { activity: { nodes: { action: string; details: Record<string, unknown> }[] } };
    };
    assert.equal(data.activity.nodes[0]?.action, 'setMcpSettings');
    return data.activity.nodes[0].details['address'];
  }

  const chains: [chain: string | string[], address: string][] = [
    ['198.51.100.7', '198.51.100.7'],
    ['1.1.1.1, 198.51.100.7', '198.51.100.7'],
    ['1.1.1.1, 198.51.100.7, 10.2.3.4', '198.51.100.7'],
    [['1.1.1.1', '198.51.100.7'], '198.51.100.7'],
    ['198.51.100.7:4711', '198.51.100.7'],
    ['[2001:db9::1]:4711', '2001:db9::1'],
    ['2001:db9::1', '2001:db9::1'],
    ['198.51.100.9, 2001:db8::5', '198.51.100.9'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['', '127.0.0.1'],
    [',,,', '127.0.0.1'],
    ['unknown', '127.0.0.1'],
    ['198.51.100.7, unknown', '127.0.0.1'],
    ['198.51.100.7, <script>, 10.2.3.4', '10.2.3.4'],
    ['999.1.1.1', '127.0.0.1'],
    ['198.51.100.7 evil', '127.0.0.1'],
    [`${'1.1.1.1, '.repeat(1_000)}198.51.100.7`, '198.51.100.7'],
    [`198.51.100.7${', 10.0.0.1'.repeat(1_000)}`, '198.51.100.7'],
  ];

  it('is the address of whom they name, read from the right up to the first they do not trust', async () => {
    for (const [chain, address] of chains) {
      assert.equal(
        await addressOf({ 'x-forwarded-for': chain }),
        address,
        String(chain).slice(0, 80),
      );
    }
  });

  it('sets Secure by X-Forwarded-Proto, and the other flags always', async () => {
    const cases: [headers: Headers, secure: boolean][] = [
      [{ 'x-forwarded-proto': 'https' }, true],
      [{ 'x-forwarded-proto': 'http, https' }, true],
      [{ 'x-forwarded-proto': 'https, http' }, false],
      [{ 'x-forwarded-proto': 'http' }, false],
      [{ 'x-forwarded-proto': 'javascript' }, false],
      [{ forwarded: 'proto=https' }, false],
      [{}, false],
    ];
    for (const [headers, secure] of cases) {
      const answer = await graphql(gangway, headers, login, owner);
      const [set = ''] = answer.headers['set-cookie'] ?? [];
      assert.match(set, /^service\.session_token=[^;]+;/);
      const flags = new Set(
        set
          .split('; ')
          .slice(1)
          .map((flag) => flag.split('=')[0]),
      );
      for (const flag of ['HttpOnly', 'SameSite', 'Path', 'Max-Age'])
        assert.ok(flags.has(flag), flag);
      assert.match(set, /SameSite=Lax/);
      assert.match(set, /Path=\/(;|$)/);
      assert.ok(!flags.has('Domain'));
      assert.equal(flags.has('Secure'), secure, JSON.stringify(headers));
    }
  });

  it('counts for limits: failed tokens of one network do not hold up another', async () => {
    const wrong = (address: string): Promise<PlainAnswer> =>
      graphql(
        gangway,
        { 'x-forwarded-for': address, authorization: 'Bearer gwy_wrong' },
        '{ me { id } }',
      );
    const refused = await found('failed tokens are refused', async () => {
      // One network, 256 addresses of it; so many at once that few are forgotten meanwhile.
      const hosts = Array.from({ length: 32 }, () => Math.floor(Math.random() * 256).toString(16));
      const answers = await Promise.all(hosts.map((host) => wrong(`2001:db9:1:2::${host}`)));
      for (const { status } of answers) assert.ok(status === 401 || status === 429, String(status));
      return answers.find(({ status }) => status === 429);
    });
    assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
    assert.equal((await wrong('2001:db9:1:3::1')).status, 401);
    assert.equal((await wrong('198.51.100.20')).status, 401);
    const good = await gangway.client.token({ capabilities: [] });
    const headers = { 'x-forwarded-for': '2001:db9:1:2::1', authorization: `Bearer ${good}` };
    assert.equal((await graphql(gangway, headers, '{ me { id } }')).status, 200);
  });

  it('counts for nothing where no proxy is trusted', async () => {
    const alone = await Gangway.open();
    try {
      const headers = {
        'x-forwarded-for': '198.51.100.7',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'evil.test',
        forwarded: 'for=198.51.100.7;proto=https',
      };
      assert.equal(await addressOf(headers, alone, alone.client.cookie), '127.0.0.1');
      const answer = await graphql(alone, headers, login, owner);
      assert.doesNotMatch(String(answer.headers['set-cookie']), /Secure/);
      // Nobody poses as the panel by a header.
      const posing = { ...headers, origin: 'https://evil.test', cookie: alone.client.cookie };
      assert.ok(isRefused(await graphql(alone, posing, 'mutation { logout }')));
      // Apps under localhost are no neighbours of a panel that is an address.
      assert.deepEqual(alone.logged('apps_share_the_panels_site'), []);
    } finally {
      await alone.end();
    }
  });
});
