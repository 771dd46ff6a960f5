import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tar, zip } from '../support/archives.ts';
import { archiveOf, owner, packed } from '../support/gangway-client.ts';
import type { Answer, AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { assertProblem } from '../support/problem.ts';
import { RawClient } from '../support/raw-http.ts';

describe('bad input', () => {
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
    app = await client.runningApp('Target', packed('procfile'));
  });
  after(() => gangway.end());

  describe('at the deploy hook', () => {
    let hook: string;
    let good: string;
    before(async () => {
      hook = await client.hookPath(app.id);
      good = await client.token({ capabilities: ['deploy_apps'] });
    });

    const call = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
      gangway.stranger().ask(path, { method: 'POST', headers });
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

    it('is 401 without a usable token, whatever else comes', async () => {
      const changed = good.slice(0, -1) + (good.endsWith('a') ? 'b' : 'a');
      const session = client.cookie.split('=')[1] ?? '';
      const attempts: Record<string, string>[] = [
        {},
        { cookie: client.cookie },
        bearer(''),
        bearer('nonsense'),
        bearer(changed),
        bearer(`gwy_${'0'.repeat(40)}`),
        bearer(session),
        { authorization: `Basic ${Buffer.from(`x:${good}`).toString('base64')}` },
        { authorization: good },
      ];
      for (const headers of attempts) {
        const answer = await call(hook, headers);
        assertProblem(answer, 401, 'UNAUTHENTICATED', JSON.stringify(headers));
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
      }
      assertProblem(await call('/api/apps/app_none/deploy-hook/none'), 401, 'UNAUTHENTICATED');
    });

    it('is 404 for what is not there or out of reach', async () => {
      const other = await client.createApp('Other');
      const narrow = await client.token({ capabilities: ['deploy_apps'], appIds: [other.id] });
      const token = hook.split('/').at(-1) ?? '';
      assertProblem(
        await call(`/api/apps/app_none/deploy-hook/${token}`, bearer(good)),
        404,
        'NOT_FOUND',
      );
      assertProblem(await call(`${hook}x`, bearer(good)), 404, 'NOT_FOUND');
      const mixed = `/api/apps/${other.id}/deploy-hook/${token}`;
      assertProblem(await call(mixed, bearer(good)), 404, 'NOT_FOUND', "another app's hook");
      assertProblem(await call(hook, bearer(narrow)), 404, 'NOT_FOUND', 'out of scope');
      await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: other.id });
      const gone = await call(`/api/apps/${other.id}/deploy-hook/${token}`, bearer(good));
      assertProblem(gone, 404, 'NOT_FOUND', 'in trash');
      assertProblem(
        await call(hook, { ...bearer(good), 'x-service-team': 'team_other' }),
        403,
        'FORBIDDEN',
      );
    });

    it('is 403 for a token that may not deploy and for a hook that is off', async () => {
      const reader = await client.token({ capabilities: ['view_logs'] });
      const { detail } = assertProblem(await call(hook, bearer(reader)), 403, 'FORBIDDEN');
      assert.match(detail, /deploy_apps/);
      const set =
        'mutation($id: ID!, $on: Boolean!) { setAppDeployHookEnabled(id: $id, enabled: $on) { deployHookEnabled } }';
      await client.must(set, { id: app.id, on: false });
      assertProblem(await call(hook, bearer(good)), 403, 'HOOK_DISABLED');
      await client.must(set, { id: app.id, on: true });
    });

    it('forgets the old address when it is rotated, and the token when it is revoked', async () => {
      const rotate = 'mutation($id: ID!) { rotateAppDeployHook(id: $id) }';
      const rotated = await client.must<{ rotateAppDeployHook: string }>(rotate, { id: app.id });
      assertProblem(await call(hook, bearer(good)), 404, 'NOT_FOUND');
      hook = new URL(rotated.rotateAppDeployHook).pathname;
      assert.equal(await client.hookPath(app.id), hook);
      const answer = await call(hook, bearer(good));
      assert.equal(answer.status, 200, answer.text);
      await client.finished((JSON.parse(answer.text) as { deploymentId: string }).deploymentId);
      const { apiTokens } = await client.must<{ apiTokens: { id: string }[] }>(
        '{ apiTokens { id } }',
      );
      for (const { id } of apiTokens) {
        await client.must('mutation($id: ID!) { revokeToken(id: $id) }', { id });
      }
      assertProblem(await call(hook, bearer(good)), 401, 'UNAUTHENTICATED');
    });

    it('is 409 for an app with nothing to deploy', async () => {
      const token = await client.token({ capabilities: ['deploy_apps'] });
      const { id } = await client.createApp('Bare');
      assertProblem(await call(await client.hookPath(id), bearer(token)), 409, 'NOT_DEPLOYABLE');
    });
  });

  describe('at the upload', () => {
    const good = archiveOf({ 'index.html': 'new' });
    const path = (id = app.id): string => `/api/apps/${id}/upload`;
    const linkOut = { name: 'out', type: '2', linkName: '../../etc/passwd' };

    async function stored(): Promise<object> {
      const query = 'query($id: ID!) { app(id: $id) { upload { filename size uploadedAt } } }';
      return await client.must<object>(query, { id: app.id });
    }

    it('refuses each archive that could not be used or could harm, and keeps the one before', async () => {
      const known = await stored();
      const one = { name: 'a', data: 'a' };
      const zeros = gzipSync(Buffer.alloc(80 * 2 ** 20));
      const cases: [string, Uint8Array, string, number, string][] = [
        ['nothing', Buffer.alloc(0), 'a.tar.gz', 400, 'ARCHIVE_EMPTY'],
        ['a tar of nothing', tar(), 'a.tar', 400, 'ARCHIVE_EMPTY'],
        ['no archive', Buffer.from('hello'.repeat(200)), 'a.tgz', 422, 'ARCHIVE_TYPE_MISMATCH'],
        ['a zip by another name', zip([one]), 'a.tar.gz', 422, 'ARCHIVE_TYPE_MISMATCH'],
        ['a gzip by another name', good, 'a.zip', 422, 'ARCHIVE_TYPE_MISMATCH'],
        ['a cut gzip', good.subarray(0, -12), 'a.tar.gz', 422, 'ARCHIVE_CORRUPT'],
        ['a cut tar', tar(one).subarray(0, 700), 'a.tar', 422, 'ARCHIVE_CORRUPT'],
        ['a cut zip', zip([one]).subarray(0, -8), 'a.zip', 422, 'ARCHIVE_CORRUPT'],
        ['a wrong checksum', tar({ ...one, checksumOff: 1 }), 'a.tar', 422, 'ARCHIVE_CORRUPT'],
        [
          'an absolute path',
          tar({ name: '/etc/x', data: 'a' }),
          'a.tar',
          422,
          'ARCHIVE_UNSAFE_ENTRY',
        ],
        ['a way up', tar({ name: 'a/../../b', data: 'a' }), 'a.tar', 422, 'ARCHIVE_UNSAFE_ENTRY'],
        [
          'a way up in a zip',
          zip([{ name: '..\\b', data: 'a' }]),
          'a.zip',
          422,
          'ARCHIVE_UNSAFE_ENTRY',
        ],
        ['a drive', zip([{ name: 'C:/b', data: 'a' }]), 'a.zip', 422, 'ARCHIVE_UNSAFE_ENTRY'],
        ['a NUL', zip([{ name: 'a\0b', data: 'a' }]), 'a.zip', 422, 'ARCHIVE_UNSAFE_ENTRY'],
        ['a link out', tar(one, linkOut), 'a.tar', 422, 'ARCHIVE_UNSAFE_ENTRY'],
        ['a device', tar({ name: 'dev', type: '3' }), 'a.tar', 422, 'ARCHIVE_UNSAFE_ENTRY'],
        ['a FIFO', tar({ name: 'fifo', type: '6' }), 'a.tar', 422, 'ARCHIVE_UNSAFE_ENTRY'],
        ['a bomb', zeros, 'a.tar.gz', 422, 'ARCHIVE_BOMB'],
        ['a secret', zip([{ ...one, flags: 1 }]), 'a.zip', 422, 'ARCHIVE_ENCRYPTED'],
        ['another format', good, 'a.tar.bz2', 415, 'UNSUPPORTED_ARCHIVE'],
        ['no extension', good, 'archive', 415, 'UNSUPPORTED_ARCHIVE'],
        ['only a folder', good, '/', 400, 'FILENAME_REQUIRED'],
        ['a long name', good, `${'a'.repeat(252)}.tgz`, 400, 'FILENAME_REQUIRED'],
      ];
      for (const [what, bytes, filename, status, code] of cases) {
        assertProblem(await client.upload(app.id, bytes, filename), status, code, what);
      }
      const nameless = await client.ask(path(), { method: 'POST', body: new Uint8Array(good) });
      assertProblem(nameless, 400, 'FILENAME_REQUIRED');
      assert.deepEqual(await stored(), known);
    });

    it('is for the cookie alone, from our own pages', async () => {
      const token = await client.token({ capabilities: ['deploy_apps'] });
      const nobody = gangway.stranger();
      assertProblem(await nobody.upload(app.id, good), 401, 'UNAUTHENTICATED');
      const bearer = { authorization: `Bearer ${token}` };
      assertProblem(await nobody.upload(app.id, good, 'a.tgz', bearer), 401, 'COOKIE_REQUIRED');
      assertProblem(await client.upload(app.id, good, 'a.tgz', bearer), 401, 'COOKIE_REQUIRED');
      const twice = { cookie: `${client.cookie}; ${client.cookie}` };
      assertProblem(await nobody.upload(app.id, good, 'a.tgz', twice), 400, 'BAD_REQUEST');
      const tampered = { cookie: `${client.cookie.slice(0, -4)}AAAA` };
      assertProblem(await nobody.upload(app.id, good, 'a.tgz', tampered), 401, 'UNAUTHENTICATED');
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: `http://hello.localhost:${String(gangway.edgePort)}` },
      ]) {
        const answer = await rawUpload(headers);
        assert.equal(answer.status, 403, JSON.stringify(headers));
        assert.match(answer.body, /"code":"CROSS_SITE"/);
      }
      assert.equal((await rawUpload({ 'sec-fetch-site': 'same-origin' })).status, 200);
      assert.equal((await rawUpload({ origin: gangway.url })).status, 200);
      assertProblem(
        await client.upload(app.id, good, 'a.tgz', { 'x-service-team': 'other' }),
        403,
        'FORBIDDEN',
      );
    });

    function arriving(): number {
      const folder = join(gangway.dataDir, 'uploads', 'tmp');
      return existsSync(folder) ? readdirSync(folder).length : 0;
    }

    /** By hand: fetch would not let us send these headers. */
    async function rawUpload(headers: Record<string, string>) {
      const raw = new RawClient(gangway.port);
      const fields = {
        host: `127.0.0.1:${String(gangway.port)}`,
        cookie: client.cookie,
        'x-upload-filename': 'a.tgz',
        'content-length': String(good.length),
        ...headers,
      };
      raw.write(`POST ${path()} HTTP/1.1\r\n${lines(fields)}\r\n`);
      raw.write(good);
      const answer = await raw.answer();
      raw.destroy();
      return answer;
    }

    it('is 404 or 413 by the app and by the size', async () => {
      assertProblem(await client.upload('app_none', good), 404, 'NOT_FOUND');
      const raw = new RawClient(gangway.port);
      const size = String(512 * 2 ** 20 + 1);
      const fields = {
        host: 'x',
        cookie: client.cookie,
        'x-upload-filename': 'a.tgz',
        'content-length': size,
      };
      raw.write(`POST ${path()} HTTP/1.1\r\n${lines(fields)}\r\n`);
      const answer = await raw.answer();
      raw.destroy();
      assert.deepEqual(
        [answer.status, /"code":"(\w+)"/.exec(answer.body)?.[1]],
        [413, 'PAYLOAD_TOO_LARGE'],
      );
    });

    it('is 409 while another upload or a deployment runs', async () => {
      const first = new RawClient(gangway.port);
      const fields = {
        host: 'x',
        cookie: client.cookie,
        'x-upload-filename': 'a.tgz',
        'content-length': String(good.length),
      };
      first.write(`POST ${path()} HTTP/1.1\r\n${lines(fields)}\r\n`);
      first.write(good.subarray(0, 10));
      await until('it arrives', 10_000, () => arriving() === 1);
      assertProblem(await client.upload(app.id, good), 409, 'UPLOAD_IN_PROGRESS');
      const id = await client.redeploy(app.id);
      assert.equal((await client.deployment(id))?.status, 'queued');
      first.write(good.subarray(10));
      assert.equal((await first.answer()).status, 200);
      first.destroy();
      await until(
        'it builds',
        10_000,
        async () => (await client.deployment(id))?.status !== 'queued',
      );
      const during = await client.upload(app.id, good);
      if (during.status !== 200) assertProblem(during, 409, 'DEPLOY_IN_PROGRESS');
      assert.equal(await client.finished(id), 'ready');
      assert.equal((await client.visit(app.slug)).text, 'new');
    });
  });

  it('leaves no secret in the log of the service', async () => {
    const secret = await client.token({ capabilities: ['deploy_apps'] });
    const hook = await client.hookPath(app.id);
    const headers = { authorization: `Bearer ${secret}` };
    assert.equal((await gangway.stranger().ask(hook, { method: 'POST', headers })).status, 200);
    const session = decodeURIComponent(client.cookie.split('=')[1] ?? '').split('.')[0] ?? '';
    await until('the request is logged', 10_000, () =>
      gangway.output.includes('/deploy-hook/:token'),
    );
    for (const text of [secret, hook.split('/').at(-1) ?? '', session, 'gwy_', owner.password]) {
      assert.ok(text.length > 3);
      assert.ok(!gangway.output.includes(text));
    }
  });
});

function lines(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}
