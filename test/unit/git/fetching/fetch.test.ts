import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type FetchRequest,
  GitFetch,
  type gitLimits,
  parseCommit,
} from '../../../../src/git/fetching/fetch.ts';
import type { GitCommit } from '../../../../src/git/fetching/commit.ts';
import { Repositories } from '../../../../src/git/repositories/repository.ts';
import { AddressPolicy } from '../../../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../../../src/lib/guarded-fetch.ts';
import { eventually } from '../../../support/eventually.ts';
import { git, GitServer } from '../../../support/git-server.ts';
import { localPrograms } from '../../../support/local-programs.ts';
import { needs } from '../../../support/programs.ts';
import { noLog, tempDir } from '../../../support/runner.ts';

describe('GitFetch', { skip: needs('git') }, () => {
  const server = new GitServer();
  const root = tempDir();
  const programs = localPrograms();
  const policy = new AddressPolicy({ privateNetworks: ['127.0.0.0/8'] });
  before(() => server.open());
  after(async () => {
    await server.close();
    await rm(root, { recursive: true, force: true });
  });

  function fetcher(limits: Partial<typeof gitLimits> = {}): GitFetch {
    const within = (name: string): Repositories =>
      new Repositories({ root: join(root, name), driver: programs, uids: null, logger: noLog });
    const http = new GuardedFetch({ policy });
    return new GitFetch({
      ...{ http, logger: noLog, limits },
      repositories: within('git'),
      pushed: within('pushed'),
    });
  }

  let jobs = 0;
  function request(url: string, more: Partial<FetchRequest> = {}): FetchRequest {
    return {
      job: `job-${String((jobs += 1))}`,
      appId: 'app_1',
      teamId: 'team_1',
      connectionId: null,
      remote: { url, credentials: null },
      branch: 'main',
      sha: null,
      path: null,
      submodules: false,
      archive: join(root, 'archive.tar'),
      found: () => Promise.resolve(),
      say: () => undefined,
      signal: new AbortController().signal,
      ...more,
    };
  }

  it('gives git no credentials and no address, and no name of a stranger', async () => {
    const url = server.create('secret', { a: '1' });
    server.login = 'bot:s3cret';
    const remote = { url, credentials: { username: 'bot', secret: 's3cret' } };
    await fetcher().fetch(request(url, { remote, connectionId: 'con_1' }));
    server.login = null;
    const told = JSON.stringify([programs.ran, programs.started]);
    for (const word of ['s3cret', 'bot:', server.url, 'refs/heads']) {
      assert.ok(!told.includes(word), word);
    }
    assert.deepEqual(
      programs.removed,
      programs.started.map(({ id }) => id),
    );
  });

  it('bounds what comes, what is unpacked, and the time', async () => {
    const url = server.create('large', { noise: 'x'.repeat(300_000) });
    const small = fetcher({ treeBytes: 100_000 }).fetch(request(url));
    await assert.rejects(small, /The files of the commit have more than/);
    server.commit('large', { more: Array.from({ length: 9000 }, Math.random).join('') });
    const few = fetcher({ packBytes: 20_000 }).fetch(request(url));
    await assert.rejects(few, /has more than .* of objects/);
    server.answers.set('/large.git/git-upload-pack', () => undefined);
    const late = fetcher({ fetchMs: 300 }).fetch(request(url));
    await assert.rejects(late, /Fetching took longer than/);
    server.answers.clear();
    await fetcher().fetch(request(url));
    assert.ok(statSync(join(root, 'archive.tar')).size > 300_000, 'and it is fetched then');
  });

  it('writes nothing of what few bytes would become: a huge file, or files without number', async () => {
    const url = server.create('bomb', { zeros: '\0'.repeat(3_000_000) });
    const bare = join(server.folder, 'bomb.git');
    const archive = join(root, 'bomb.tar');
    const large = fetcher({ treeBytes: 2_000_000 }).fetch(request(url, { archive }));
    await assert.rejects(large, /The files of the commit have more than/);
    const stored = (args: string, input: string): string =>
      execFileSync('git', args.split(' '), { cwd: bare, input }).toString().trim();
    // Of ten entries each is as the one below it.
    let entry = `100644 blob ${stored('hash-object -w --stdin', 'x')}`;
    for (let depth = 0; depth < 4; depth++) {
      const names = Array.from({ length: 10 }, (_, i) => `${entry}\tx${String(i)}\n`);
      entry = `040000 tree ${stored('mktree', names.join(''))}`;
    }
    const commit = git(bare, 'commit-tree', '-m', 'Grow', entry.slice(12));
    git(bare, 'update-ref', 'refs/heads/main', commit);
    const walked = fetcher({ walkedFiles: 9_000 }).fetch(request(url, { archive, path: 'x0/x0' }));
    await assert.rejects(walked, /has more than 9,000 files/);
    assert.ok(!existsSync(archive));
    const pushed = join(root, 'pushed', 'app_bomb');
    git(bare, 'clone', '--quiet', '--bare', bare, join(pushed, 'repo'));
    const bomb = { archive, appId: 'app_bomb', path: 'x0' };
    const asked = { ...request(url, bomb), pushedTo: 'app_bomb' };
    const here = fetcher({ treeFiles: 900 }).pushed(asked);
    await assert.rejects(here, /has more than 900 files/);
    assert.ok(!existsSync(archive));
  });

  it('says what a repository is that vanished between two looks', async () => {
    const url = server.create('gone', { a: '1' });
    server.answers.set('/gone.git/git-upload-pack', (_request, response) => {
      response.writeHead(404).end();
    });
    await assert.rejects(fetcher().fetch(request(url)), /There is no such repository/);
    server.answers.clear();
  });

  it('fetches a commit that it is told, whatever was pushed behind it, and no other', async () => {
    const url = server.create('told', { a: 'first' });
    const first = (await fetcher().fetch(request(url))).sha;
    server.commit('told', { a: 'second' });
    const anew = { sha: first, connectionId: 'con_told' };
    assert.equal((await fetcher().fetch(request(url, anew))).sha, first);
    assert.ok(readFileSync(join(root, 'archive.tar'), 'latin1').includes('first'));
    await assert.rejects(fetcher().fetch(request(url, { sha: 'ab'.repeat(20) })), /not our ref/);
  });

  it('says that a token was revoked half way, and fetches with the next one', async () => {
    const url = server.create('revoked', { a: '1' });
    server.login = 'bot:old';
    const remote = { url, credentials: { username: 'bot', secret: 'old' } };
    const { start } = programs;
    // Its branch is known by then.
    programs.start = (spec) => {
      server.login = 'bot:new';
      return start(spec);
    };
    const revoked = fetcher().fetch(request(url, { remote }));
    await assert.rejects(revoked, /refuses the credentials of the connection/);
    programs.start = start;
    const renewed = { url, credentials: { username: 'bot', secret: 'new' } };
    await fetcher().fetch(request(url, { remote: renewed }));
    server.login = null;
  });

  it('asks only for what is new, and begins anew when it has kept too much', async () => {
    const url = server.create('kept', { a: '1' });
    await fetcher().fetch(request(url));
    const second = server.commit('kept', { b: '2' });
    let seen: GitCommit | null = null;
    const found = (commit: GitCommit): Promise<void> => {
      seen = commit;
      return Promise.resolve();
    };
    await fetcher().fetch(request(url, { found }));
    assert.equal((seen as GitCommit | null)?.sha, second);
    server.commit('kept', { c: '3' });
    const before = programs.ran.length;
    await fetcher({ keptPacks: 2 }).fetch(request(url));
    const inits = programs.ran.slice(before).filter(({ command }) => command.includes('init'));
    assert.equal(inits.length, 1);
    const text = readFileSync(join(root, 'archive.tar'), 'latin1');
    assert.ok(text.includes('c\0'));
  });

  it('keeps teams and connections apart, and removes what is not used', async () => {
    const url = server.create('apart', { a: '1' });
    const folder = join(root, 'git');
    // One, which knows what is in use.
    const all = fetcher();
    const before = readdirSync(folder).length;
    await all.fetch(request(url));
    await all.fetch(request(url, { teamId: 'team_2' }));
    await all.fetch(request(url, { connectionId: 'con_2' }));
    assert.equal(readdirSync(folder).length, before + 3);
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), 1, 1);
    await all.fetch(request(url));
    await eventually('the others are gone', () => readdirSync(folder).length === 1);
    assert.ok(existsSync(join(folder, readdirSync(folder)[0] ?? '', 'repo', 'HEAD')));
  });

  const archived = (file: string): string =>
    execFileSync('tar', ['-xOf', join(root, 'archive.tar'), file]).toString();

  /** Puts the head of a repository into another one as a submodule. */
  function link(into: string, path: string, name: string, url: string): void {
    const work = join(server.folder, into);
    const sha = git(join(server.folder, name), 'rev-parse', 'HEAD');
    mkdirSync(join(work, path), { recursive: true });
    git(work, 'update-index', '--add', '--cacheinfo', `160000,${sha},${path}`);
    const modules = `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`;
    server.commit(into, { '.gitmodules': modules });
  }

  it('fetches submodules where they are asked for, also those within, and of the same host alone', async () => {
    server.create('leaf', { 'leaf.txt': 'leaf' });
    server.create('lib', { 'lib.txt': 'lib' });
    link('lib', 'deep/leaf', 'leaf', '../leaf.git');
    const url = server.create('super', { 'app.txt': 'app' });
    link('super', 'libs/lib', 'lib', `${server.url}/lib.git`);
    server.login = 'bot:s3cret';
    const remote = { url, credentials: { username: 'bot', secret: 's3cret' } };
    const [plain, whole] = [{ remote }, { remote, submodules: true }];
    await fetcher().fetch(request(url, plain));
    assert.throws(() => archived('libs/lib/lib.txt'));
    await fetcher().fetch(request(url, whole));
    assert.equal(archived('libs/lib/lib.txt'), 'lib');
    assert.equal(archived('libs/lib/deep/leaf/leaf.txt'), 'leaf');
    assert.equal(archived('app.txt'), 'app');
    const asked = server.requests.length;
    await fetcher().fetch(request(url, { ...whole, path: 'libs/lib/deep' }));
    assert.equal(archived('leaf/leaf.txt'), 'leaf');
    assert.equal(server.requests.length, asked + 2, 'it is asked for its branch alone');
    server.login = null;
    for (const elsewhere of ['https://git.example/lib.git', 'git@h:lib.git']) {
      link('super', 'libs/lib', 'lib', elsewhere);
      const refused = fetcher().fetch(request(url, { submodules: true }));
      await assert.rejects(refused, /The submodule libs\/lib is not fetched/, elsewhere);
      await fetcher().fetch(request(url));
    }
    assert.ok(
      !readdirSync(join(root, 'git')).some((name) => existsSync(join(root, 'git', name, 'beside'))),
    );
  });

  it('fetches files of Git LFS, of the same host alone, and no other than the commit names', async () => {
    const content = 'large '.repeat(1000);
    const oid = createHash('sha256').update(content).digest('hex');
    const size = content.length;
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${String(size)}\n`;
    const url = server.create('lfs', { 'a/large.bin': pointer, 'small.bin': 'small' });
    await fetcher().fetch(request(url));
    assert.equal(archived('a/large.bin'), pointer, 'nobody said that it is one');
    server.commit('lfs', { '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n' });
    let [href, sent] = [`${server.url}/objects/${oid}`, content];
    const headers: unknown[] = [];
    server.answers.set('/lfs.git/info/lfs/objects/batch', (asked, response) => {
      headers.push(asked.headers.authorization);
      const actions = { download: { href, header: { Authorization: 'Other' } } };
      response.end(JSON.stringify({ objects: [{ oid, size, actions }] }));
    });
    server.answers.set('/objects/', (asked, response) => {
      headers.push(asked.headers.authorization);
      response.end(sent);
    });
    const remote = { url, credentials: { username: 'bot', secret: 's3cret' } };
    await fetcher().fetch(request(url, { remote, path: 'a' }));
    assert.equal(archived('large.bin'), content);
    const basic = `Basic ${Buffer.from('bot:s3cret').toString('base64')}`;
    assert.deepEqual(headers, [basic, 'Other']);
    for (const other of [`${content.slice(1)}x`, content.slice(1), `${content}x`]) {
      sent = other;
      await assert.rejects(fetcher().fetch(request(url)), /another file of Git LFS/);
    }
    await assert.rejects(
      fetcher({ treeBytes: 5_000 }).fetch(request(url)),
      /too many, or too large/,
    );
    server.answers.set('/elsewhere/', (_asked, response) => {
      response.writeHead(302, { location: `${server.url}/objects/${oid}` }).end();
    });
    sent = content;
    href = `${server.url}/elsewhere/${oid}`;
    await assert.rejects(fetcher().fetch(request(url)), /status 302 for files of Git LFS/);
    href = 'https://elsewhere.example/object';
    const lines: string[] = [];
    await fetcher().fetch(request(url, { say: (line) => lines.push(line) }));
    assert.equal(archived('a/large.bin'), pointer);
    assert.match(lines.join('\n'), /^1 of the files of Git LFS lie on another host/m);
    server.answers.clear();
    await assert.rejects(fetcher().fetch(request(url)), /status 404 for files of Git LFS/);
  });

  it('refuses addresses that are none of https', async () => {
    for (const url of ['ext::sh -c x', 'file:///etc', 'ssh://git@h/x', '-x', 'https://h/x?a=b']) {
      await assert.rejects(fetcher().fetch(request(url)), { code: 'GIT_FAILED' }, url);
    }
  });
});

describe('parseCommit()', () => {
  it('takes what git wrote, and lets nothing through that terminals obey', () => {
    const head = 'tree 1\nauthor A\u001b[2J B <a@b> 1 +0100\ncommitter C <c@d> 1 +0000';
    assert.deepEqual(parseCommit('s', `${head}\n\nOne\u0007\n\nTwo\n`), {
      sha: 's',
      author: 'A [2J B <a@b>',
      message: 'One\n\nTwo',
    });
    assert.deepEqual(parseCommit('s', 'tree 1'), { sha: 's', author: '', message: '' });
  });
});
