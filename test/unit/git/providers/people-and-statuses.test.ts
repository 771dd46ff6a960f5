import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { providerApi } from '../../../../src/git/providers/provider-api.ts';
import type { CommitStatus, ProviderKind } from '../../../../src/git/providers/provider.ts';
import { providers } from '../../../../src/git/providers/providers.ts';
import { loopbackFetch } from '../../../support/bucket.ts';

const sha = 'ab'.repeat(20);
const status: CommitStatus = {
  ...{ state: 'success', description: 'The commit is live.', context: 'gangway/shop' },
  url: 'http://shop.test',
};

interface Asked {
  line: string;
  authorization: string | undefined;
  body: unknown;
}

describe('what providers know of people and commits', () => {
  let server: Server;
  let baseUrl = '';
  let asked: Asked[] = [];
  /** By method and address. */
  let answers: Record<string, [status: number, body?: unknown]> = {};

  before(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const line = `${request.method ?? ''} ${request.url ?? ''}`;
        const text = Buffer.concat(chunks).toString();
        const body: unknown = text === '' ? null : JSON.parse(text);
        asked.push({ line, authorization: request.headers.authorization, body });
        const [code, answer] = answers[line] ?? [404, {}];
        response.writeHead(code).end(answer === undefined ? '' : JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    baseUrl = `http://127.0.0.1:${String(address.port)}`;
  });
  after(() => server.close());

  const mayPush = (kind: ProviderKind, person = 'ada'): Promise<boolean | null> | undefined => {
    asked = [];
    const connection = { baseUrl, username: null, token: 'token' };
    return providers[kind].mayPush?.(connection, 'acme/shop', person, providerApi(loopbackFetch));
  };
  const report = async (kind: ProviderKind, username: string | null = null): Promise<Asked> => {
    asked = [];
    const connection = { baseUrl, username, token: 'token' };
    await providers[kind].report?.(
      connection,
      'acme/shop',
      sha,
      status,
      providerApi(loopbackFetch),
    );
    const [one] = asked;
    assert.ok(one);
    return one;
  };

  it('tell at GitHub, Gitea and Forgejo the permission of a person', async () => {
    const places = { github: '/api/v3', gitea: '/api/v1', forgejo: '/api/v1' } as const;
    for (const [kind, root] of Object.entries(places)) {
      const known = kind as keyof typeof places;
      const line = `GET ${root}/repos/acme/shop/collaborators/ada/permission`;
      const told: [answer: [number, unknown?], may: boolean | null][] = [
        [[200, { permission: 'write' }], true],
        [[200, { permission: 'admin' }], true],
        [[200, { permission: 'read' }], false],
        [[200, { permission: 'none' }], false],
        [[200, 'nothing of the kind'], false],
        [[404, {}], false],
        [[403, {}], null],
        [[401, {}], null],
      ];
      for (const [answer, may] of told) {
        answers = { [line]: answer };
        assert.equal(await mayPush(known), may, `${kind} ${JSON.stringify(answer)}`);
        assert.deepEqual(
          asked.map((one) => one.line),
          [line],
        );
      }
      for (const answer of [[500, {}], [302, {}], [200]] as [number, unknown?][]) {
        answers = { [line]: answer };
        await assert.rejects(async () => mayPush(known), { code: 'GIT_PROVIDER_FAILED' });
      }
      answers = {};
      await mayPush(known, '../../../x?y');
      assert.ok(asked[0]?.line.includes('/..%2F..%2F..%2Fx%3Fy/'), asked[0]?.line);
    }
  });

  it('tell at GitLab the level of a member', async () => {
    const ada = { id: 7, username: 'Ada' };
    const user = 'GET /api/v4/users?username=ada';
    const member = 'GET /api/v4/projects/acme%2Fshop/members/all/7';
    const told: [answers: typeof answers, may: boolean | null][] = [
      [{ [user]: [200, [ada]], [member]: [200, { access_level: 30 }] }, true],
      [{ [user]: [200, [ada]], [member]: [200, { access_level: 20 }] }, false],
      [{ [user]: [200, [ada]] }, false],
      [{ [user]: [200, []] }, false],
      [{ [user]: [200, [{ ...ada, id: '7/../8' }]] }, false],
      // Others than the one that was asked for.
      [
        { [user]: [200, [{ id: 7, username: 'eve' }]], [member]: [200, { access_level: 30 }] },
        false,
      ],
      [{ [user]: [403] }, null],
      [{ [user]: [200, [ada]], [member]: [403] }, null],
    ];
    for (const [given, may] of told) {
      answers = given;
      assert.equal(await mayPush('gitlab'), may, JSON.stringify(given));
    }
  });

  it('tell nothing elsewhere', async () => {
    for (const kind of ['gogs', 'bitbucket', 'generic'] as const) {
      assert.equal(providers[kind].mayPush, null, kind);
    }
  });

  it('show a status at a commit, where they have such', async () => {
    const { url: target_url, state, description, context } = status;
    for (const kind of ['gitea', 'forgejo'] as const) {
      const line = `POST /api/v1/repos/acme/shop/statuses/${sha}`;
      answers = { [line]: [201, {}] };
      const body = { state, description, context, target_url };
      assert.deepEqual(await report(kind), { line, authorization: 'token token', body });
    }
    const gitlab = `POST /api/v4/projects/acme%2Fshop/statuses/${sha}`;
    answers = { [gitlab]: [201, {}] };
    assert.deepEqual(await report('gitlab'), {
      ...{ line: gitlab, authorization: 'Bearer token' },
      body: { state: 'success', name: context, description, target_url },
    });
    const bitbucket = `POST /rest/build-status/1.0/commits/${sha}`;
    answers = { [bitbucket]: [204] };
    const { line, authorization, body } = await report('bitbucket', 'bot');
    assert.deepEqual([line, authorization], [bitbucket, 'Basic Ym90OnRva2Vu']);
    const { key, ...rest } = body as Record<string, unknown>;
    assert.match(String(key), /^[0-9a-f]{40}$/);
    assert.deepEqual(rest, { state: 'SUCCESSFUL', name: context, url: target_url, description });
    answers = { [bitbucket]: [403] };
    await assert.rejects(report('bitbucket'), { code: 'GIT_PROVIDER_FAILED' });
    for (const kind of ['gogs', 'generic'] as const) assert.equal(providers[kind].report, null);
  });
});
