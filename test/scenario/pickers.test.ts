/** The pickers of a service whose sources are on this machine, then away. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { Gangway } from '../support/gangway.ts';
import { PublicRegistry } from '../support/public-registry.ts';

interface Picked {
  source: string;
  fetchedAt: string | null;
  versions: { version: string; tag: string; lts: boolean; endOfLife: string | null }[];
  tools: { tool: string; source: string; versions: { tag: string }[] }[];
  results: { name: string; stars: number | null }[];
  tags: { tag: string }[];
  code?: string;
}

const versionsPath = '/api/database-versions?engine=redis';

describe('the pickers', () => {
  const cleanup = cleanups();
  let hub: PublicRegistry;
  let behind: PublicRegistry;
  let gangway: Gangway;
  let token = '';

  before(async () => {
    hub = await PublicRegistry.start();
    cleanup(() => hub.close());
    behind = await PublicRegistry.start();
    cleanup(() => behind.close());
    gangway = await Gangway.create({
      env: {
        GANGWAY_DOCKER_HUB_URL: `${hub.url}/`,
        GANGWAY_DOCKER_REGISTRY_URL: behind.url,
        GANGWAY_NODE_INDEX_URL: `${hub.url}/index.json`,
        GANGWAY_NPM_REGISTRY_URL: hub.url,
      },
    });
    cleanup(() => gangway.end());
    await gangway.start();
    await gangway.client.setUp();
    const { createToken } = await gangway.client.must<{ createToken: { secret: string } }>(
      'mutation { createToken(input: { name: "reader" }) { secret } }',
    );
    token = createToken.secret;
  });

  const pick = async (path: string, status = 200): Promise<Picked> => {
    const answer = await gangway.client.ask(path);
    assert.equal(answer.status, status, answer.text);
    return JSON.parse(answer.text) as Picked;
  };

  it('dockerHubUrl, dockerRegistryUrl, nodeIndexUrl and npmRegistryUrl are what is asked', async () => {
    hub.tags.set('library/redis', [
      { name: 'latest' },
      { name: '8.0-alpine' },
      { name: '8.2-alpine' },
      { name: '8.2.9-alpine' },
    ]);
    hub.node = [{ version: 'v24.1.0', lts: 'Krypton' }];
    for (const name of ['npm', 'pnpm', 'yarn', '@yarnpkg/cli-dist', 'bun']) {
      hub.npm.set(name, { latest: '9.9.9' });
    }
    const redis = await pick(versionsPath);
    assert.equal(redis.source, 'registry');
    assert.deepEqual(
      redis.versions.map(({ version, tag }) => [version, tag]),
      [
        ['8.2', '8.2.9-alpine'],
        ['8.0', '8.0-alpine'],
      ],
    );
    const node = await pick('/api/node-versions');
    assert.equal(node.source, 'index');
    assert.deepEqual(node.versions, [
      { version: '24', tag: '24.1.0', lts: true, endOfLife: '2028-04-30' },
    ]);
    hub.answers.set('/v2/repositories', { status: 503 });
    behind.tags.set('library/python', [{ name: '3.14.7' }]);
    behind.tags.set('library/golang', [{ name: '1.27.1' }]);
    const { source, tools } = await pick('/api/build-tool-versions');
    assert.equal(source, 'registry');
    assert.deepEqual(
      tools.map(({ tool, versions }) => [tool, versions[0]?.tag]),
      [
        ...['npm', 'pnpm', 'yarn', 'bun'].map((tool) => [tool, '9.9.9']),
        ['python', '3.14.7'],
        ['go', '1.27.1'],
      ],
    );
  });

  it('search images and list their tags', async () => {
    hub.answers.clear();
    hub.images = [{ repo_name: 'redis', is_official: true, star_count: 5 }];
    const { results } = await pick('/api/registry/images?action=search&q=redis');
    assert.deepEqual(results[0], { name: 'redis', description: '', official: true, stars: 5 });
    const { tags } = await pick('/api/registry/images?action=tags&image=redis&filter=8.2');
    assert.deepEqual(
      tags.map(({ tag }) => tag),
      ['8.2.9-alpine', '8.2-alpine'],
    );
    const none = await pick('/api/registry/images?action=tags&image=nobody/none', 422);
    assert.equal(none.code, 'IMAGE_NOT_FOUND');
  });

  it('are for people and tokens, and say what is wrong', async () => {
    const bearer = { authorization: `Bearer ${token}` };
    const stranger = gangway.stranger();
    assert.equal((await stranger.ask(versionsPath, { headers: bearer })).status, 200);
    for (const path of [
      versionsPath,
      '/api/node-versions',
      '/api/build-tool-versions',
      '/api/registry/images?action=search&q=x',
    ])
      assert.equal((await stranger.ask(path)).status, 401, path);
    for (const path of [
      '/api/database-versions',
      '/api/database-versions?engine=POSTGRES',
      '/api/registry/images',
      '/api/registry/images?action=search&q=%20',
      `/api/registry/images?action=search&q=${'x'.repeat(101)}`,
      '/api/registry/images?action=tags&image=../x',
    ]) {
      assert.equal((await pick(path, 400)).code, 'BAD_USER_INPUT', path);
    }
  });

  it('have what was found over a restart, and what is shipped where nothing is reached', async () => {
    const { length } = hub.asked;
    await gangway.stop();
    await gangway.start();
    const redis = await pick(versionsPath);
    assert.equal(redis.source, 'cache');
    assert.ok(redis.fetchedAt);
    assert.equal(hub.asked.length, length);
    await hub.close();
    await behind.close();
    const postgres = await pick('/api/database-versions?engine=postgres');
    assert.equal(postgres.source, 'bundled');
    assert.equal(postgres.fetchedAt, null);
    assert.equal(postgres.versions[0]?.version, '18');
    const shown = await pick('/api/registry/images?action=search&q=nginx');
    assert.deepEqual([shown.source, shown.results[0]?.name], ['bundled', 'nginx']);
    const failed = await pick('/api/registry/images?action=tags&image=me/app', 502);
    assert.equal(failed.code, 'REGISTRY_FAILED');
  });
});
