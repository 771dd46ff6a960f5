import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { acceptedType } from '../../../../src/gateway/transports/graphql.ts';
import { type GraphqlGateway, startGraphql } from '../../../support/graphql-gateway.ts';

interface Body {
  data?: Record<string, unknown> | null;
  errors?: { message: string; extensions: { code: string } }[];
}

const newer = 'application/graphql-response+json';

async function read(response: Response): Promise<Body> {
  return (await response.json()) as Body;
}

async function codeOf(response: Response): Promise<string | undefined> {
  return (await read(response)).errors?.[0]?.extensions.code;
}

describe('POST /api/graphql', () => {
  let api: GraphqlGateway;
  before(async () => {
    api = await startGraphql();
  });
  after(() => api.close());

  it('answers an anonymous query as application/json to a client that takes anything', async () => {
    const response = await api.post({ query: '{ needsSetup me { id } }' });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.deepEqual(await read(response), { data: { needsSetup: true, me: null } });
  });

  it('answers as the person behind a cookie, and as the owner of a token', async () => {
    const query = '{ me { email } viewerTeam { id } apps { totalCount nodes { id } } }';
    const byCookie = await api.post({ query }, { cookie: api.cookie('usr_ann') });
    const byToken = await api.post({ query }, { authorization: `Bearer ${api.token()}` });
    const expected = {
      me: { email: 'usr_ann@example.org' },
      viewerTeam: { id: 'team_a' },
      apps: { totalCount: 3, nodes: [{ id: 'app_1' }, { id: 'app_2' }, { id: 'app_3' }] },
    };
    assert.deepEqual((await read(byCookie)).data, expected);
    assert.deepEqual((await read(byToken)).data, expected);
  });

  it('takes a stale cookie for nobody, whose protected fields are UNAUTHENTICATED', async () => {
    const headers = { cookie: 'service.session_token=gone.gone' };
    const me = await api.post({ query: '{ me { id } }' }, headers);
    assert.deepEqual(await read(me), { data: { me: null } });
    assert.equal(
      await codeOf(await api.post({ query: '{ apps { totalCount } }' }, headers)),
      'UNAUTHENTICATED',
    );
  });

  it('answers 401 to a bearer token that is no good, before it reads the body', async () => {
    for (const authorization of ['Bearer nonsense', 'Bearer', 'bearer gwy_x']) {
      const response = await api.post('{', { authorization, cookie: api.cookie('usr_ann') });
      assert.equal(response.status, 401);
      assert.ok(response.headers.get('www-authenticate')?.startsWith('Bearer'));
      assert.equal(await codeOf(response), 'UNAUTHENTICATED');
    }
  });

  it('answers 403 for a team the caller is not in', async () => {
    const headers = { cookie: api.cookie('usr_ann'), 'x-service-team': 'team_b' };
    const response = await api.post({ query: '{ viewerTeam { id } }' }, headers);
    assert.equal(response.status, 403);
    assert.equal(await codeOf(response), 'FORBIDDEN');
  });

  it('takes JSON in UTF-8 only', async () => {
    const ok = await api.post(
      { query: '{ needsSetup }' },
      { 'content-type': 'application/json; charset="UTF-8"' },
    );
    assert.equal(ok.status, 200);
    for (const type of [
      'text/plain',
      'application/graphql',
      'application/json; charset=utf-16',
      'application/x-www-form-urlencoded',
    ]) {
      const response = await api.post('{"query":"{ needsSetup }"}', { 'content-type': type });
      assert.equal(response.status, 415, type);
      assert.equal(await codeOf(response), 'UNSUPPORTED_MEDIA_TYPE');
    }
  });

  const malformed: [string, string][] = [
    ['no JSON', '{"query":'],
    ['nothing', ''],
    ['a list', '[{"query":"{ needsSetup }"}]'],
    ['a string', '"{ needsSetup }"'],
    ['null', 'null'],
    ['no query', '{"qeury":"{ needsSetup }"}'],
    ['a query that is no string', '{"query":{}}'],
    ['an empty query', '{"query":""}'],
    ['variables in a list', '{"query":"{ needsSetup }","variables":[7]}'],
    ['variables in a string', '{"query":"{ needsSetup }","variables":"{}"}'],
    ['an operationName that is no string', '{"query":"{ needsSetup }","operationName":7}'],
    ['extensions that are no object', '{"query":"{ needsSetup }","extensions":"x"}'],
  ];
  for (const [what, body] of malformed) {
    it(`answers 400 to ${what}, whatever type is accepted`, async () => {
      for (const accept of ['application/json', newer, '*/*']) {
        const response = await api.post(body, { accept });
        assert.equal(response.status, 400);
        assert.equal(await codeOf(response), 'BAD_REQUEST');
      }
    });
  }

  it('answers 400 to bytes that are no UTF-8', async () => {
    const response = await fetch(api.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"query":"{ needsSetup }\xff"}', 'latin1'),
    });
    assert.equal(response.status, 400);
  });

  it('takes null for variables, operationName and extensions', async () => {
    const body = {
      query: '{ needsSetup }',
      variables: null,
      operationName: null,
      extensions: null,
    };
    assert.equal((await api.post(body, { accept: newer })).status, 200);
  });

  const refused: [string, object, string][] = [
    ['a document that does not parse', { query: '{' }, 'GRAPHQL_PARSE_FAILED'],
    ['a document that is not valid', { query: '{ nonsense }' }, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'an operation nobody wrote',
      { query: '{ needsSetup }', operationName: 'X' },
      'BAD_USER_INPUT',
    ],
    [
      'two operations and no name',
      { query: 'query A { me { id } } query B { me { id } }' },
      'BAD_USER_INPUT',
    ],
    [
      'a wrong variable',
      { query: 'query($n: Int) { apps(first: $n) { totalCount } }', variables: { n: 'x' } },
      'BAD_USER_INPUT',
    ],
    [
      'too deep a document',
      {
        query: `{ __schema { ${'types { fields { type { '.repeat(6)} name ${'} } } '.repeat(6)} } }`,
      },
      'COST_LIMIT',
    ],
    [
      'too many aliases',
      { query: `{ ${Array.from({ length: 200 }, (_, i) => `a${i}: needsSetup`).join(' ')} }` },
      'COST_LIMIT',
    ],
    ['too many tokens', { query: `{ ${'needsSetup '.repeat(5_000)} }` }, 'COST_LIMIT'],
    ['too long a document', { query: `{ needsSetup } #${'x'.repeat(70_000)}` }, 'COST_LIMIT'],
    [
      'lists within lists within lists',
      {
        query:
          '{ apps(first: 500) { nodes { deployments(first: 500) { nodes { id log { nodes { text } } } } } } }',
      },
      'COST_LIMIT',
    ],
  ];
  for (const [what, body, code] of refused) {
    it(`refuses ${what}: 400 in the newer type, 200 in application/json`, async () => {
      for (const [accept, status] of [
        [newer, 400],
        ['application/json', 200],
      ] as const) {
        const response = await api.post(body, { accept });
        assert.equal(response.status, status);
        assert.equal(response.headers.get('content-type'), `${accept}; charset=utf-8`);
        const answer = await read(response);
        assert.equal(answer.errors?.[0]?.extensions.code, code);
        assert.ok(!('data' in answer));
      }
    });
  }

  it('answers 200 when only a field failed, in both types', async () => {
    const body = { query: '{ needsSetup app { id } }' };
    for (const accept of [newer, 'application/json']) {
      const response = await api.post(body, { accept, cookie: api.cookie('usr_ann') });
      assert.equal(response.status, 200);
      const { data, errors } = await read(response);
      assert.deepEqual(data, { needsSetup: true, app: null });
      assert.equal(errors?.[0]?.extensions.code, 'BAD_USER_INPUT');
    }
  });

  it('answers 406 when neither type is acceptable', async () => {
    const response = await api.post({ query: '{ needsSetup }' }, { accept: 'text/html' });
    assert.equal(response.status, 406);
  });

  it('chooses the type as the specification says', () => {
    assert.equal(acceptedType(''), newer);
    assert.equal(acceptedType('*/*'), 'application/json');
    assert.equal(acceptedType('application/*'), 'application/json');
    assert.equal(acceptedType(`application/json, ${newer}`), newer);
    assert.equal(acceptedType(`${newer};q=0.5, application/json`), 'application/json');
    assert.equal(acceptedType('application/json, text/plain, */*'), 'application/json');
    assert.equal(acceptedType('text/event-stream'), 'text/event-stream');
    assert.equal(acceptedType('application/json;q=0'), null);
    assert.equal(acceptedType('application/json; charset=latin1'), null);
  });

  it('answers 413 to a body beyond the limit', async () => {
    const response = await api.post({
      query: '{ needsSetup }',
      variables: { x: 'y'.repeat(1_100_000) },
    });
    assert.equal(response.status, 413);
  });

  it('answers 405 to other methods', async () => {
    const response = await fetch(api.url, { method: 'PUT' });
    assert.equal(response.status, 405);
    assert.match(response.headers.get('allow') ?? '', /POST/);
  });

  it('refuses a mutation that a page of another site sent, and no query', async () => {
    const change = { query: 'mutation { createFolder(name: "x") { id } }' };
    const login = { query: 'mutation { login(email: "a", password: "b") { requiresTwoFactor } }' };
    const cookie = api.cookie('usr_ann');
    for (const elsewhere of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      for (const body of [change, login]) {
        const response = await api.post(body, { ...elsewhere, cookie });
        assert.equal(response.status, 403);
        assert.equal(await codeOf(response), 'CROSS_SITE');
      }
      const query = await api.post({ query: '{ needsSetup }' }, { ...elsewhere, cookie });
      assert.equal(query.status, 200);
    }
    const home = await api.post(change, { cookie, origin: 'http://127.0.0.1:3000' });
    assert.equal(
      ((await read(home)).data?.['createFolder'] as { id: string }).id.slice(0, 4),
      'fld_',
    );
  });

  it('changes things at the actors and reads them in the next request', async () => {
    const headers = { authorization: `Bearer ${api.token()}` };
    const made = await api.post(
      {
        query: 'mutation($n: String!) { createFolder(name: $n) { id name } }',
        variables: { n: 'shop' },
      },
      headers,
    );
    const { id } = (await read(made)).data?.['createFolder'] as { id: string };
    const listed = await api.post({ query: '{ folders { id } }' }, headers);
    const ids = ((await read(listed)).data?.['folders'] as { id: string }[]).map(
      (folder) => folder.id,
    );
    assert.ok(ids.includes(id));
    const gone = await api.post(
      { query: 'mutation($id: ID!) { deleteFolder(id: $id) }', variables: { id } },
      headers,
    );
    assert.deepEqual((await read(gone)).data, { deleteFolder: true });
    const again = await api.post(
      { query: 'mutation($id: ID!) { deleteFolder(id: $id) }', variables: { id } },
      headers,
    );
    assert.equal(await codeOf(again), 'NOT_FOUND');
  });

  it('names the capability that a caller lacks', async () => {
    const response = await api.post(
      { query: 'mutation { createFolder(name: "y") { id } }' },
      { cookie: api.cookie('usr_vic') },
    );
    const { data, errors } = await read(response);
    assert.equal(data, null);
    assert.equal(errors?.[0]?.extensions.code, 'FORBIDDEN');
    assert.match(errors[0].message, /manage_folders/);
  });

  it('answers introspection', async () => {
    const response = await api.post({
      query: '{ __schema { queryType { name } types { name } } }',
    });
    assert.equal(response.status, 200);
    assert.ok('data' in (await read(response)));
  });
});

describe('POST /api/graphql, signing in too often', () => {
  it('answers 429 with the time to wait, whatever the client accepts', async () => {
    const login = (): Promise<never> =>
      Promise.reject(new ServiceError('RATE_LIMITED', 'Later.', { retryAfterS: 42 }));
    const api = await startGraphql({ accounts: { login, completeSetup: login } as never });
    try {
      for (const accept of ['application/json', newer]) {
        const query = 'mutation { login(email: "a", password: "b") { requiresTwoFactor } }';
        const response = await api.post({ query }, { accept });
        assert.equal(response.status, 429);
        assert.equal(response.headers.get('retry-after'), '42');
        assert.equal(await codeOf(response), 'RATE_LIMITED');
      }
    } finally {
      await api.close();
    }
  });
});

describe('GET /api/graphql', () => {
  let api: GraphqlGateway;
  before(async () => {
    api = await startGraphql();
  });
  after(() => api.close());

  it('serves the explorer with scripts of our own only, each bound to the page', async () => {
    const response = await fetch(api.url, { headers: { accept: 'text/html,*/*;q=0.8' } });
    assert.equal(response.status, 200);
    const policy = response.headers.get('content-security-policy') ?? '';
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1];
    assert.ok(nonce);
    assert.ok(!policy.includes('unsafe'));
    const page = await response.text();
    assert.ok(!/https?:\/\//.test(page));
    const scripts = page.match(/<script [^>]*>/g) ?? [];
    assert.equal(scripts.length, 4);
    for (const script of scripts) assert.ok(script.includes(`nonce="${nonce}"`));
    assert.ok(!/<script[^>]*>[^<]/.test(page));
  });

  it('serves every file of the page, to be cached for ever', async () => {
    const page = await (await fetch(api.url, { headers: { accept: 'text/html' } })).text();
    const paths = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? '');
    assert.equal(paths.length, 5);
    for (const path of paths) {
      const response = await fetch(new URL(path, api.url));
      assert.equal(response.status, 200, path);
      assert.match(response.headers.get('cache-control') ?? '', /immutable/);
      assert.ok((await response.text()).length > 500);
    }
    assert.equal((await fetch(new URL('/api/graphql/assets/none.js', api.url))).status, 404);
  });

  it('answers no queries', async () => {
    const address = `${api.url}?query=%7BneedsSetup%7D`;
    const response = await fetch(address, { headers: { accept: 'application/json' } });
    assert.equal(response.status, 406);
  });
});
