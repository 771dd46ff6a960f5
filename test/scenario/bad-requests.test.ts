import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { found } from '../support/eventually.ts';
import { packed } from '../support/gangway-client.ts';
import type { Answer, AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { assertProblem } from '../support/problem.ts';
import { RawClient } from '../support/raw-http.ts';

describe('bad requests', () => {
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  before(async () => {
    gangway = await Gangway.open({ env: { GANGWAY_MAX_LOG_STREAMS_PER_USER: '3' } });
    client = gangway.client;
    app = await client.runningApp('Target', packed('procfile'));
  });
  after(() => gangway.end());

  describe('at the log streams', () => {
    const logs = (query = '', id = app.id): string => `/api/apps/${id}/logs${query}`;

    it('is 400 with what is allowed for each bad value', async () => {
      const bad = [
        'tail=-1',
        'tail=5001',
        'tail=1.5',
        'tail=x',
        'tail=',
        'tail=1&tail=2',
        'sinceMinutes=x',
        'sinceMinutes=-1',
        'timestamps=yes',
        'notices=2',
        'after=x',
      ];
      for (const query of bad) {
        const answer = await client.ask(logs(`?${query}`));
        const { detail } = assertProblem(answer, 400, 'BAD_USER_INPUT', query);
        assert.match(detail, new RegExp(query.split('=')[0] ?? ''));
        if (query.startsWith('tail=5')) assert.match(detail, /0 to 5000/);
      }
      const resumed = await client.ask(logs(), { headers: { 'last-event-id': 'nonsense' } });
      assertProblem(resumed, 400, 'BAD_USER_INPUT');
      assertProblem(await client.ask(logs('?container=db')), 404, 'NO_SUCH_CONTAINER');
    });

    it('is 401 or 404 by who asks and for what', async () => {
      const nobody = gangway.stranger();
      assertProblem(await nobody.ask(logs()), 401, 'UNAUTHENTICATED');
      const token = await client.token({ capabilities: ['view_logs'] });
      const headers = { authorization: `Bearer ${token}` };
      assertProblem(await nobody.ask(logs(), { headers }), 401, 'COOKIE_REQUIRED');
      assertProblem(await client.ask(logs(), { headers }), 401, 'COOKIE_REQUIRED');
      assertProblem(await client.ask(logs('', 'app_none')), 404, 'NOT_FOUND');
      assertProblem(await client.ask('/api/databases/db_none/logs'), 404, 'NOT_FOUND');
      assertProblem(await nobody.ask('/api/databases/db_none/logs'), 401, 'UNAUTHENTICATED');
    });

    it('is 429 for one more than a person may have, until one is closed', async () => {
      const open = (): LogTail => new LogTail(`${gangway.url}${logs()}`, { cookie: client.cookie });
      const tails = [open(), open(), open()];
      await until('three streams', 10_000, () => tails.every(({ sessionId }) => sessionId !== ''));
      assertProblem(await client.ask(logs()), 429, 'TOO_MANY_STREAMS');
      tails[0]?.close();
      let fourth = open();
      await until('room again', 10_000, () => {
        if (fourth.ended) fourth = open();
        return fourth.sessionId !== '';
      });
      // In order, so that they count no more from here on.
      const left = [...tails.slice(1), fourth];
      for (const { sessionId } of left)
        await client.ask(logs(`?sessionId=${sessionId}`), { method: 'DELETE' });
      await until('they ended', 10_000, () => left.every(({ ended }) => ended));
    });

    it('closes a stream for its opener, once and again', async () => {
      const tail = new LogTail(`${gangway.url}${logs()}`, { cookie: client.cookie });
      await until('the session', 10_000, () => tail.sessionId !== '');
      assertProblem(await client.ask(logs(), { method: 'DELETE' }), 400, 'BAD_USER_INPUT');
      const path = logs(`?sessionId=${tail.sessionId}`);
      assertProblem(
        await gangway.stranger().ask(path, { method: 'DELETE' }),
        401,
        'UNAUTHENTICATED',
      );
      for (let times = 0; times < 2; times++) {
        const answer = await client.ask(path, { method: 'DELETE' });
        assert.deepEqual([answer.status, answer.text], [204, '']);
      }
      await until('it ended', 10_000, () => tail.ended);
      assert.equal(
        (await client.ask(logs('?sessionId=str_none'), { method: 'DELETE' })).status,
        204,
      );
    });
  });

  describe('at GraphQL', () => {
    const json = { 'content-type': 'application/json' };
    const newer = 'application/graphql-response+json';

    async function send(body: string, headers: Record<string, string> = json) {
      const answer = await client.ask('/api/graphql', { method: 'POST', body, headers });
      const parsed = JSON.parse(answer.text) as {
        errors?: { message: string; extensions: { code: string } }[];
        code?: string;
      };
      const [error] = parsed.errors ?? [];
      assert.doesNotMatch(answer.text, /node_modules|\\n\s+at |\/src\//);
      return {
        ...answer,
        code: error?.extensions.code ?? parsed.code,
        message: error?.message ?? '',
      };
    }

    it('is 400 for a body that is no request, whatever is accepted', async () => {
      const bad = [
        '',
        '{',
        'null',
        '[]',
        '{}',
        '"x"',
        '{"query": 1}',
        '{"query": "{ me { id } }", "variables": []}',
        '{"query": "{ me { id } }", "operationName": 1}',
      ];
      for (const body of bad) {
        for (const accept of ['*/*', newer]) {
          const answer = await send(body, { ...json, accept });
          assert.equal(answer.status, 400, `${body} ${answer.text}`);
          assert.equal(answer.code, 'BAD_REQUEST', body);
        }
      }
    });

    it('is 415 for what is not JSON and 406 where no answer would be accepted', async () => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/graphql',
        'multipart/form-data; boundary=x',
      ]) {
        const answer = await send('{"query": "{ me { id } }"}', { 'content-type': type });
        assert.deepEqual([answer.status, answer.code], [415, 'UNSUPPORTED_MEDIA_TYPE'], type);
      }
      const answer = await send('{"query": "{ me { id } }"}', { ...json, accept: 'text/html' });
      assert.deepEqual([answer.status, answer.code], [406, 'NOT_ACCEPTABLE']);
    });

    it('is 400 or 200 by media type for a request that is refused before it runs', async () => {
      const deep = `${'{ a'.repeat(60)}${'}'.repeat(60)}`;
      const aliases = Array.from({ length: 2000 }, (_, index) => `a${String(index)}: needsSetup`);
      const bad: [string, string][] = [
        ['{', 'GRAPHQL_PARSE_FAILED'],
        ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
        ['{ apps { nodes } }', 'GRAPHQL_VALIDATION_FAILED'],
        ['query($id: ID!) { app(id: $id) { id } }', 'BAD_USER_INPUT'],
        [deep, 'COST_LIMIT'],
        [`{ ${aliases.join(' ')} }`, 'COST_LIMIT'],
      ];
      for (const [query, code] of bad) {
        const body = JSON.stringify({ query });
        const old = await send(body, { ...json, accept: 'application/json' });
        assert.deepEqual([old.status, old.code], [200, code], `${query.slice(0, 60)} ${old.text}`);
        const now = await send(body, { ...json, accept: newer });
        assert.deepEqual([now.status, now.code], [400, code], query.slice(0, 60));
        assert.match(now.headers.get('content-type') ?? '', /graphql-response\+json/);
      }
    });

    it('answers what is refused while it runs with its code', async () => {
      const bad: [string, string][] = [
        ['mutation { createApp(input: {name: "", source: UPLOAD}) { id } }', 'BAD_USER_INPUT'],
        [
          'mutation { createApp(input: {name: "x", source: UPLOAD, folderId: "fld_none"}) { id } }',
          'NOT_FOUND',
        ],
        ['mutation { startApp(id: "app_none") { id } }', 'NOT_FOUND'],
        ['mutation { redeploy(appId: "app_none") { id } }', 'NOT_FOUND'],
        ['mutation { cancelDeployment(id: "dpl_none") }', 'NOT_FOUND'],
        ['mutation { rollbackDeployment(deploymentId: "dpl_none") { id } }', 'NOT_FOUND'],
        ['mutation { revokeToken(id: "tok_none") }', 'NOT_FOUND'],
        ['mutation { switchTeam(teamId: "team_none") { id } }', 'FORBIDDEN'],
        ['mutation { restoreFromTrash(id: "trs_none") }', 'NOT_FOUND'],
        [
          'mutation { login(email: "me@example.com", password: "wrong wrong wrong") { viewer { id } } }',
          'UNAUTHENTICATED',
        ],
        [
          'mutation { completeSetup(email: "b@example.com", password: "another password", name: "B", teamName: "B") { viewer { id } } }',
          'CONFLICT',
        ],
        [
          'mutation { createToken(input: {name: "x", expiresAt: "2001-01-01T00:00:00.000Z"}) { secret } }',
          'BAD_USER_INPUT',
        ],
        [
          `mutation { upsertEnv(appId: "${app.id}", entries: [{key: "1 2", value: "x"}]) { id } }`,
          'BAD_USER_INPUT',
        ],
        [
          `mutation { upsertEnv(appId: "${app.id}", entries: [{key: "PORT", value: "1"}]) { id } }`,
          'BAD_USER_INPUT',
        ],
        ['mutation { updateInstanceSettings(logMaxDays: 0) { logMaxDays } }', 'BAD_USER_INPUT'],
        [
          'mutation { updateInstanceSettings(publicUrl: "ftp://x") { publicUrl } }',
          'BAD_USER_INPUT',
        ],
      ];
      for (const [query, code] of bad) {
        const answer = await send(JSON.stringify({ query }));
        assert.deepEqual([answer.status, answer.code], [200, code], `${query} ${answer.text}`);
        assert.match(answer.message, /^\S.*\.$/, query);
      }
    });

    it('tells strangers nothing, and takes no change from another site', async () => {
      const nobody = gangway.stranger();
      const open = await nobody.must<object>('{ needsSetup me { email } }');
      assert.deepEqual(open, { needsSetup: false, me: null });
      for (const query of [
        '{ apps { nodes { id } } }',
        `{ app(id: "${app.id}") { id } }`,
        '{ apiTokens { id } }',
        '{ instanceSettings { logMaxDays } }',
        'mutation { createToken(input: {name: "x"}) { secret } }',
        `mutation { deleteApp(id: "${app.id}") }`,
      ]) {
        assert.equal(await nobody.fails(query), 'UNAUTHENTICATED', query);
      }
      const change = `mutation { stopApp(id: "${app.id}") { id } }`;
      assert.equal(
        await client.fails(change, {}, { origin: 'https://evil.example' }),
        'CROSS_SITE',
      );
      assert.equal(
        await client.fails('{ apps { nodes { id } } }', {}, { 'x-service-team': 'other' }),
        'FORBIDDEN',
      );
      assert.equal((await client.visit(app.slug)).status, 200);
    });
  });

  describe('at any address', () => {
    it('is 404 for a path nobody knows and 405 with Allow for another method', async () => {
      for (const path of [
        '/nothing',
        '/api',
        '/api/',
        '/api/apps',
        '/api/health/',
        '/api//health',
        '/API/health',
        '/.env',
        '/api/apps/x/logs/y',
      ]) {
        assertProblem(await client.ask(path), 404, 'NOT_FOUND', path);
      }
      const wrong: [string, string, string[]][] = [
        ['POST', '/api/health', ['GET', 'HEAD']],
        ['PUT', '/api/graphql', ['GET', 'HEAD', 'POST']],
        ['DELETE', `/api/apps/${app.id}/upload`, ['POST']],
        ['POST', `/api/apps/${app.id}/logs`, ['DELETE', 'GET', 'HEAD']],
        ['GET', `/api/apps/${app.id}/deploy-hook/x`, ['POST']],
      ];
      for (const [method, path, allowed] of wrong) {
        const answer = await client.ask(path, { method });
        assertProblem(answer, 405, 'METHOD_NOT_ALLOWED', `${method} ${path}`);
        const allow = (answer.headers.get('allow') ?? '').split(', ').sort();
        for (const one of allow)
          assert.ok(allowed.includes(one) || one === 'OPTIONS', `${path}: ${one}`);
        assert.ok(allow.length > 0);
      }
    });

    it('answers framing that has two readings with 400 and closes; long heads with 431', async () => {
      const bad: [string, number][] = [
        ['Content-Length: 2\r\nContent-Length: 2', 400],
        ['Content-Length: 2\r\nTransfer-Encoding: chunked', 400],
        ['Transfer-Encoding: gzip', 400],
        ['Transfer-Encoding: chunked, chunked', 400],
        ['Content-Length: -2', 400],
        ['Content-Length: 2x', 400],
        [`X-Long: ${'a'.repeat(17_000)}`, 431],
      ];
      for (const [field, status] of bad) {
        const raw = new RawClient(gangway.port);
        raw.write(
          `POST /api/graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${field}\r\n\r\n{}`,
        );
        await raw.closed();
        assert.match(raw.received, new RegExp(`^HTTP/1.1 ${String(status)} `), field.slice(0, 40));
      }
      const raw = new RawClient(gangway.port);
      raw.write('GET /api/health HTTP/1.1\r\nAccept: */*\r\n\r\n');
      await raw.closed();
      assert.match(raw.received, /^HTTP\/1.1 400 /);
    });

    it('is 429 after 60 bad tokens of an address, while good ones are let through', async () => {
      const good = await client.token({});
      const ask = (token: string): Promise<Answer> =>
        gangway.stranger().ask('/api/graphql', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '{"query": "{ me { email } }"}',
        });
      const answer = await found('a bad token is refused', async () => {
        // So many at once that few are forgotten meanwhile.
        const answers = await Promise.all(Array.from({ length: 61 }, () => ask('gwy_bad')));
        return answers.find(({ status }) => status === 429);
      });
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
      assert.equal((await ask(good)).status, 200);
    });
  });
});
