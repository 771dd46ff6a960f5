import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/lib/ids.ts';
import type { GitSource } from '../../src/store/records/records.ts';
import { tables } from '../../src/store/records/tables.ts';
import { eventually } from '../support/eventually.ts';
import { git, GitServer } from '../support/git-server.ts';
import { newApp, PlatformPlace } from '../support/platform-place.ts';
import { needs } from '../support/programs.ts';

const lfs = '*.bin filter=lfs diff=lfs merge=lfs -text\n';
const page = (text: string) => ({ 'index.html': text });

describe('apps that are fetched by git', { skip: needs('git') }, () => {
  const place = new PlatformPlace({ GANGWAY_PRIVATE_NETWORKS: '127.0.0.0/8' });
  const server = new GitServer();
  before(async () => {
    await server.open();
    await place.open();
  });
  after(async () => {
    await place.close();
    await server.close();
  });

  async function create(repository: string, more: Partial<GitSource> = {}) {
    const id = newId('app');
    const git = { connectionId: null, repository, branch: 'main', path: null, ...more };
    const name = `App ${id.slice(-8)}`;
    await place.ask(id, { type: 'create', app: { ...newApp, name, source: 'GIT', git } });
    return place.app(id);
  }

  function kept(): string[] {
    return readdirSync(join(place.dataDir, 'apps', 'git'));
  }

  it('deploys the newest commit of the branch, and says which it is', async () => {
    const repository = server.create('site', page('first'));
    const { id, slug } = await create(repository);
    await place.deploy(id);
    assert.deepEqual(await place.get(slug), { status: 200, body: 'first' });
    const sha = server.commit('site', page('second'), 'Say more\n\nWith a reason.');
    server.commit('site', page('elsewhere'), 'Other', 'topic');
    const { commitSha, commitMessage, commitAuthor, branch, id: second } = await place.deploy(id);
    assert.deepEqual(
      { commitSha, commitMessage, commitAuthor, branch },
      {
        commitSha: sha,
        commitMessage: 'Say more\n\nWith a reason.',
        commitAuthor: 'Ada Byron <ada@example.com>',
        branch: 'main',
      },
    );
    assert.equal((await place.get(slug)).body, 'second');
    const log = place.log(`build:${second}`);
    assert.match(log, new RegExp(`^Found ${sha.slice(0, 12)} Say more$`, 'm'));
    assert.equal(kept().length, 1, 'both are in one repository');
    const sources = (): string => readdirSync(join(place.dataDir, 'uploads', id)).join();
    await eventually('the source of what is live is kept', () => sources() === `${second}.tar`);
    assert.equal(await place.platform.driver.inspect(`${second}-git-1`), undefined);
    await place.ask(id, { type: 'rollback', deploymentId: second, trigger: 'api' });
  });

  it('fetches again what it has, and from servers of old', async () => {
    server.isOld = true;
    const { id, slug } = await create(server.create('old', page('one')));
    await place.deploy(id);
    server.requests.length = 0;
    await place.deploy(id);
    // A busy runner is asked again.
    const asked = new Set(server.requests.map(({ url }) => url));
    assert.deepEqual([...asked], ['/old.git/info/refs?service=git-upload-pack'], 'it is here');
    server.commit('old', page('two'));
    await place.deploy(id);
    assert.equal((await place.get(slug)).body, 'two');
    server.isOld = false;
  });

  it('builds the folder that the app names, as it is', async () => {
    const repository = server.create('many', {
      'apps/web/site/index.html': 'inner',
      'apps/web/.gitattributes': '* export-ignore\n',
      'package.json': '{"scripts":{"build":"exit 1"}}',
    });
    const { id, slug } = await create(repository, { path: 'apps/web' });
    await place.ask(id, { type: 'update', patch: { build: { outputDir: 'site' } } });
    await place.deploy(id);
    assert.equal((await place.get(slug)).body, 'inner');
    const missing = await create(repository, { path: '--output=x' });
    await assert.rejects(place.deploy(missing.id), /There is no folder --output=x/);
  });

  it('builds what submodules and files of Git LFS hold, in the sandbox too', async () => {
    const content = 'large '.repeat(100);
    const oid = createHash('sha256').update(content).digest('hex');
    const size = content.length;
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${String(size)}\n`;
    server.create('theme', { 'style.css': 'blue', 'large.bin': pointer, '.gitattributes': lfs });
    const repository = server.create('whole', { ...page('whole'), 'own.bin': pointer });
    const work = join(server.folder, 'whole');
    const theme = git(join(server.folder, 'theme'), 'rev-parse', 'HEAD');
    git(work, 'update-index', '--add', '--cacheinfo', `160000,${theme},theme`);
    mkdirSync(join(work, 'theme'));
    const modules = '[submodule "theme"]\n\tpath = theme\n\turl = ../theme.git\n';
    const sha = server.commit('whole', { '.gitmodules': modules, '.gitattributes': lfs });
    for (const name of ['whole', 'theme']) {
      server.answers.set(`/${name}.git/info/lfs/objects/batch`, (_request, response) => {
        const actions = { download: { href: `${server.url}/objects/${oid}` } };
        response.end(JSON.stringify({ objects: [{ oid, size, actions }] }));
      });
    }
    server.answers.set('/objects/', (_request, response) => response.end(content));
    const { id, slug } = await create(repository, { submodules: true });
    for (let time = 0; time < 2; time++) {
      assert.equal((await place.deploy(id)).commitSha, sha);
      assert.equal((await place.get(slug, '/theme/style.css')).body, 'blue');
      for (const path of ['/own.bin', '/theme/large.bin']) {
        assert.equal((await place.get(slug, path)).body, content);
      }
    }
    server.answers.clear();
  });

  it('refuses what is hostile, and serves on', async () => {
    const repository = server.create('hostile', page('good'));
    const { id, slug } = await create(repository);
    await place.deploy(id);
    const tries: [Record<string, string>, RegExp][] = [
      [{ 'a/out': '->../../../../etc/passwd' }, /is a link that leaves the archive/],
      [{ 'an/out': '->/etc/passwd' }, /is a link/],
    ];
    for (const [files, reason] of tries) {
      server.commit('hostile', files);
      await assert.rejects(place.deploy(id), reason);
      assert.equal((await place.get(slug)).body, 'good');
    }
    for (const branch of ['--upload-pack=touch /tmp/x', '../../x', 'main\0x', 'no']) {
      const git = { ...gitOf(repository), branch };
      const deploying = place
        .ask(id, { type: 'update', patch: { git } })
        .then(() => place.deploy(id));
      await assert.rejects(deploying, /There is no branch|must be a branch name/);
    }
  });

  it('keeps two files apart whose names differ in case alone', async () => {
    const repository = server.create('cases', { ...page('lower'), 'INDEX.html': 'upper' });
    const { id, slug } = await create(repository);
    await place.deploy(id);
    assert.equal((await place.get(slug, '/index.html')).body, 'lower');
    assert.equal((await place.get(slug, '/INDEX.html')).body, 'upper');
  });

  it('leaves nothing behind when a deployment is canceled while it is fetched', async () => {
    const repository = server.create('slow', page('slow'));
    const { promise: asked, resolve } = Promise.withResolvers<undefined>();
    server.answers.set('/slow.git/git-upload-pack', () => resolve(undefined));
    const { id } = await create(repository);
    const deployment = await place.ask(id, { type: 'redeploy', trigger: 'api' });
    await asked;
    await place.ask(id, { type: 'cancel', deploymentId: deployment.id });
    await place.finished(deployment.id);
    assert.equal(place.deployment(deployment.id).status, 'canceled');
    await eventually('its sandbox is gone', async () => {
      const left = await place.platform.driver.list();
      return !left.some(({ spec }) => spec.id.startsWith(deployment.id));
    });
    const archive = join(place.dataDir, 'uploads', id, `${deployment.id}.tar`);
    await eventually('nothing is left', () => !existsSync(archive));
    assert.equal(place.platform.store.get(tables.apps, id)?.status, 'idle');
  });

  function gitOf(repository: string): GitSource {
    return { connectionId: null, repository, branch: 'main', path: null };
  }
});
