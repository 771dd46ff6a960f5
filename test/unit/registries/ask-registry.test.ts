import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { imageName } from '../../../src/registries/image-name.ts';
import type {
  FoundTag,
  Outcome,
  Question,
  RegistryCall,
} from '../../../src/registries/questions.ts';
import { askRegistry } from '../../../src/registries/sources/ask-registry.ts';
import { cleanups } from '../../support/cleanups.ts';
import { PublicRegistry } from '../../support/public-registry.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('askRegistry()', () => {
  const cleanup = cleanups();
  let registry: PublicRegistry;
  beforeEach(async () => {
    const started = await PublicRegistry.start();
    cleanup(() => started.close());
    registry = started;
  });

  const ask = (question: Question, call: Partial<RegistryCall> = {}) => {
    const { url } = registry;
    const sources = {
      dockerHubUrl: url,
      dockerRegistryUrl: null,
      nodeIndexUrl: `${url}/index.json`,
      npmRegistryUrl: url,
    };
    const about = { rules: { privateNetworks: [], ownPorts: [] }, deadlineMs: 5_000 };
    return askRegistry({ question, sources, ...about, ...call });
  };
  const tagsOf = (name: string, filter = ''): Question => {
    const image = imageName(name);
    assert.ok(image);
    return { kind: 'tags', image, filter };
  };
  const found = (outcome: Outcome<unknown>): unknown[] => {
    assert.equal(outcome.kind, 'found', JSON.stringify(outcome));
    return (outcome as { found: unknown[] }).found;
  };
  const names = (outcome: Outcome<unknown>): string[] =>
    (found(outcome) as FoundTag[]).map(({ tag }) => tag);
  const failed = (outcome: Outcome<unknown>): { why: string; holdMs: number } => {
    assert.equal(outcome.kind, 'failed', JSON.stringify(outcome));
    return outcome;
  };
  const listOnly = () => ({
    sources: {
      dockerHubUrl: null,
      dockerRegistryUrl: registry.url,
      nodeIndexUrl: null,
      npmRegistryUrl: null,
    },
  });

  it('reads the tags of Docker Hub page by page, each once', async () => {
    const pushedAt = '2026-01-02T03:04:05.000Z';
    registry.tags.set('library/postgres', [
      { name: '18', digest, pushedAt, size: 12 },
      ...['17', '16', '15', '18', 'latest', '14'].map((name) => ({ name })),
    ]);
    const tags = found(await ask(tagsOf('postgres'))) as FoundTag[];
    assert.deepEqual(tags[0], { tag: '18', digest, pushedAt, sizeBytes: 12 });
    assert.deepEqual(
      tags.map(({ tag }) => tag),
      ['18', '17', '16', '15', 'latest', '14'],
    );
    assert.equal(registry.asked.length, 3);
  });

  it('leaves the filter to Docker Hub, and checks it', async () => {
    registry.tags.set('library/redis', [{ name: '8-alpine' }, { name: '8' }]);
    assert.deepEqual(names(await ask(tagsOf('redis', 'alpine'))), ['8-alpine']);
    assert.match(registry.asked[0] ?? '', /name=alpine/);
  });

  it('reads the tags of another registry by Link, with its anonymous login', async () => {
    registry.wantsLogin = true;
    registry.tags.set(
      'team/app',
      ['v1', 'v2', 'v3', 'v4'].map((name) => ({ name })),
    );
    const own = { rules: { privateNetworks: ['127.0.0.0/8'], ownPorts: [] } };
    const outcome = await ask(tagsOf(`${registry.host}/team/app`), own);
    assert.deepEqual(names(outcome), ['v1', 'v2', 'v3', 'v4']);
    assert.equal(registry.asked.filter((path) => path.startsWith('/token')).length, 1);
  });

  it('asks the registry behind Docker Hub where that itself fails', async () => {
    registry.answers.set('/v2/repositories', { status: 500, body: 'no' });
    registry.tags.set('library/redis', [{ name: '8' }]);
    const sources = { ...listOnly().sources, dockerHubUrl: registry.url };
    assert.deepEqual(names(await ask(tagsOf('redis'), { sources })), ['8']);
  });

  it('reaches no private address that a caller names', async () => {
    const other = await PublicRegistry.start();
    cleanup(() => other.close());
    other.tags.set('team/app', [{ name: 'v1' }]);
    for (const host of [
      other.host,
      other.host.replace('127.0.0.1', 'localhost'),
      '10.0.0.1',
      '169.254.169.254',
    ]) {
      assert.match(failed(await ask(tagsOf(`${host}/team/app`))).why, /not public/);
    }
    assert.deepEqual(other.asked, []);
  });

  it('follows redirects of a source, to no private address besides it', async () => {
    const other = await PublicRegistry.start();
    cleanup(() => other.close());
    other.tags.set('library/redis', [{ name: '8' }]);
    const at = '/v2/library/redis/tags/list';
    registry.answers.set('/v2/library', {
      status: 307,
      headers: { location: `${other.url}${at}` },
    });
    const { why } = failed(await ask(tagsOf('redis'), listOnly()));
    assert.match(why, /not public/);
    assert.deepEqual(other.asked, []);
    registry.answers.set('/v2/library', { status: 307, headers: { location: '/moved/tags/list' } });
    registry.answers.set('/moved', { body: '{"tags":["9"]}' });
    assert.deepEqual(names(await ask(tagsOf('redis'), listOnly())), ['9']);
  });

  it('gives up redirects that lead round and round, and logins elsewhere', async () => {
    registry.answers.set('/v2/library', {
      status: 302,
      headers: { location: '/v2/library/again' },
    });
    failed(await ask(tagsOf('redis'), listOnly()));
    assert.ok(registry.asked.length <= 4);
    const challenge = 'Bearer realm="http://10.0.0.1/token",service="x"';
    registry.answers.set('/v2/library', {
      status: 401,
      headers: { 'www-authenticate': challenge },
    });
    assert.match(failed(await ask(tagsOf('redis'), listOnly())).why, /not public/);
  });

  it('keeps what a registry says of its limits', async () => {
    registry.answers.set('/v2/repositories', { status: 429, headers: { 'retry-after': '90' } });
    assert.equal(failed(await ask(tagsOf('redis'))).holdMs, 90_000);
    const spent = { 'ratelimit-remaining': '0;w=120' };
    registry.answers.set('/v2/repositories', {
      headers: spent,
      body: '{"results":[{"name":"8"}]}',
    });
    const outcome = await ask(tagsOf('redis'));
    assert.equal(outcome.kind === 'found' && outcome.holdMs, 120_000);
  });

  it('tells what is not there from what is not shown', async () => {
    assert.deepEqual(await ask(tagsOf('none')), { kind: 'none' });
    registry.answers.set('/v2/repositories', { status: 403 });
    assert.deepEqual(await ask(tagsOf('closed')), { kind: 'refused' });
  });

  it('believes nothing that is garbage', async () => {
    const deep = '['.repeat(5_000);
    for (const body of [
      '',
      'no',
      'null',
      '7',
      '{"results":7}',
      deep,
      `{"results":"${'x'.repeat(5e6)}"}`,
    ]) {
      registry.answers.set('/v2/repositories', { body });
      failed(await ask(tagsOf('redis')));
    }
    const entries = [null, 7, {}, { name: 7 }, { name: '../x' }, { name: 'a b' }, { name: '<b>' }];
    const odd = { name: '8', digest: 'x', full_size: -1, tag_last_pushed: 'soon' };
    const body = JSON.stringify({ results: [...entries, odd], next: 'http://10.0.0.1/' });
    registry.answers.set('/v2/repositories', { body });
    assert.deepEqual(found(await ask(tagsOf('redis'))), [
      { tag: '8', digest: null, pushedAt: null, sizeBytes: null },
    ]);
  });

  it('ends pages that have no end', async () => {
    let page = 0;
    const answers = registry.answers;
    const has = (): { body: string } => {
      page += 1;
      const next = `${registry.url}/v2/repositories/x?page=${String(page)}`;
      return { body: JSON.stringify({ results: [{ name: `v${String(page)}` }], next }) };
    };
    Object.defineProperty(answers, Symbol.iterator, {
      value: () => [['/v2/repositories', has()]][Symbol.iterator](),
    });
    assert.equal(names(await ask(tagsOf('redis'))).length, 8);
    assert.equal(page, 8);
  });

  it('has what came until the deadline, and fails where nothing came', async () => {
    const next = `${registry.url}/slow`;
    const body = JSON.stringify({ results: [{ name: '8' }], next });
    registry.answers.set('/v2/repositories', { body });
    registry.answers.set('/slow', null);
    const deadlineMs = 1_500;
    assert.deepEqual(names(await ask(tagsOf('redis'), { deadlineMs })), ['8']);
    registry.answers.set('/v2/repositories', null);
    assert.match(failed(await ask(tagsOf('redis'), { deadlineMs })).why, /too long/);
  });

  it('reads images, releases of Node and versions of packages, as far as they are some', async () => {
    const about = { short_description: 'A\u0007 tool', is_official: true, star_count: 3 };
    const image = { repo_name: 'redis', ...about };
    registry.images = [
      image,
      image,
      { repo_name: 'UPPER' },
      { repo_name: 7 },
      { repo_name: 'me/app' },
    ];
    assert.deepEqual(found(await ask({ kind: 'search', text: 'redis' })), [
      { name: 'redis', description: 'A tool', official: true, stars: 3 },
      { name: 'me/app', description: '', official: false, stars: null },
    ]);
    registry.node = [
      { version: 'v24.1.0', lts: 'Krypton' },
      { version: 'v25.0.0', lts: false },
      {},
    ];
    assert.deepEqual(found(await ask({ kind: 'node' })), [
      { version: '24.1.0', lts: true },
      { version: '25.0.0', lts: false },
    ]);
    registry.npm.set('pnpm', {
      latest: '10.1.0',
      'latest-9': '9.2.0',
      next: '11.0.0-rc.1',
      old: '9.2.0',
    });
    assert.deepEqual(found(await ask({ kind: 'npm', name: 'pnpm' })), ['10.1.0', '9.2.0']);
  });
});
