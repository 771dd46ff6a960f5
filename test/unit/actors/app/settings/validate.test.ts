import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  checkBuild,
  checkGit,
  checkName,
  checkPreviewBranches,
  checkResources,
  checkSource,
  emptyBuild,
  emptyResources,
  replicasMaxOf,
} from '../../../../../src/actors/app/settings/validate.ts';
import type { BuildConfig } from '../../../../../src/store/records/records.ts';
import type { Resources } from '../../../../../src/protocol/workload.ts';

const refused = { code: 'BAD_USER_INPUT' };

describe('settings of an app', () => {
  it('takes names of 1 to 100 characters', () => {
    assert.equal(checkName('  Shop '), 'Shop');
    assert.equal(checkName('ä'.repeat(100)).length, 100);
    for (const name of ['', '   ', 'x'.repeat(101), 'a\nb', 'a\ud800b']) {
      assert.throws(() => checkName(name), refused);
    }
  });

  it('takes a build that makes sense, and empty strings as absent', () => {
    const build = checkBuild(emptyBuild, {
      buildCommand: ' npm run build ',
      startCommand: '',
      outputDir: './dist/',
      port: 65_535,
      healthPath: '/healthz?x=1',
      nodeVersion: '22.x',
    });
    assert.deepEqual(build, {
      ...emptyBuild,
      buildCommand: 'npm run build',
      outputDir: 'dist',
      port: 65_535,
      healthPath: '/healthz?x=1',
      nodeVersion: '22.x',
    });
    assert.equal(checkBuild(build, { port: null }).port, null);
    assert.equal(checkBuild(build, {}).outputDir, 'dist');
  });

  it('refuses a build that does not', () => {
    const wrong: Partial<BuildConfig>[] = [
      { port: 0 },
      { port: 65_536 },
      { port: 1.5 },
      { healthPath: 'health' },
      { healthPath: '/a b' },
      { healthPath: '/a\r\nX: y' },
      { outputDir: '../x' },
      { outputDir: '/etc' },
      { outputDir: 'a/../../b' },
      { dockerfile: '/Dockerfile' },
      { buildCommand: 'a\0b' },
      { startCommand: 'x'.repeat(5000) },
      { nodeVersion: '22; rm' },
    ];
    for (const build of wrong) assert.throws(() => checkBuild(emptyBuild, build), refused);
  });

  it('refuses resources that no server has', () => {
    const wrong: Partial<Resources>[] = [
      { memoryMb: 0 },
      { memoryMb: -1 },
      { cpus: 0 },
      { cpus: Number.NaN },
      { pids: 1 },
      { replicas: 0 },
      { replicas: 2 },
    ];
    for (const one of wrong) assert.throws(() => checkResources(emptyResources, one), refused);
    assert.equal(checkResources(emptyResources, { cpus: 0.5 }).cpus, 0.5);
  });

  it('lets an app have replicas where a swarm runs them', () => {
    const max = replicasMaxOf({ name: 'swarm' });
    assert.equal(checkResources(emptyResources, { replicas: 50 }, max).replicas, 50);
    assert.throws(() => checkResources(emptyResources, { replicas: 51 }, max), refused);
    assert.throws(
      () => checkResources(emptyResources, { replicas: 2 }, replicasMaxOf({ name: 'docker' })),
      {
        message: /only the swarm runtime/,
      },
    );
  });

  it('asks of each source what it needs and nothing else', () => {
    const none = { git: null, image: null, compose: null };
    const app = { ...none, teamId: '', name: '', folderId: null, serverId: null };
    const rest = { build: {}, resources: {}, env: [] };
    assert.deepEqual(checkSource({ ...app, ...rest, source: 'UPLOAD' }), none);
    for (const source of ['GIT', 'IMAGE', 'COMPOSE'] as const) {
      assert.throws(() => checkSource({ ...app, ...rest, source }), refused);
    }
    assert.throws(() => checkSource({ ...app, ...rest, source: 'UPLOAD', image: 'x' }), refused);
    const image = { ...app, ...rest, source: 'IMAGE' as const };
    assert.equal(checkSource({ ...image, image: ' nginx:1.2 ' }).image, 'nginx:1.2');
    assert.throws(() => checkSource({ ...image, image: 'no spaces' }), refused);
  });

  it('takes no password in the address of a repository', () => {
    const at = (repository: string) =>
      checkGit({ connectionId: null, repository, branch: 'main', path: null }).repository;
    for (const repository of ['push', 'https://git.example/a/b@c', 'ssh://git@git.example/a']) {
      assert.equal(at(repository), repository);
    }
    for (const repository of ['https://x@git.example/a', 'HTTP://a:b@h/c', 'ssh://git:pw@h/a']) {
      assert.throws(() => at(repository), { code: 'BAD_USER_INPUT', message: /password/ });
    }
  });

  it('takes no name of a repository without a connection, and nothing that git takes for a command', () => {
    for (const repository of ['acme/shop', 'git@h:a/b', 'ext::sh -c x', '-x', '../x', '.']) {
      const git = { connectionId: null, repository, branch: 'main', path: null };
      assert.throws(() => checkGit(git), { code: 'BAD_USER_INPUT', message: /must be an address/ });
    }
    const named = { connectionId: 'gc_1', repository: 'acme/shop', branch: 'main', path: null };
    assert.equal(checkGit(named).repository, 'acme/shop');
  });

  it('takes some preview branches, once each', () => {
    assert.deepEqual(checkPreviewBranches(['feat/*', 'feat/*', ' x ']), ['feat/*', 'x']);
    assert.throws(() => checkPreviewBranches(Array.from({ length: 51 }, String)), refused);
    assert.throws(() => checkPreviewBranches(['']), refused);
  });
});
