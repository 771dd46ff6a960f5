import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { git } from '../support/git-server.ts';
import { needs } from '../support/programs.ts';
import { tempDir } from '../support/runner.ts';

const vite = fileURLToPath(new URL('../fixtures/apps/vite-static', import.meta.url));

describe('git push to Gangway', { skip: needs('git') }, () => {
  let gangway: Gangway;
  const folders: string[] = [];
  before(async () => {
    gangway = await Gangway.open();
  });
  after(async () => {
    await gangway.end();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  const pushedApp = (name: string): Promise<AppInfo> =>
    gangway.client.createApp(name, {
      source: 'GIT',
      git: { repository: 'push', branch: 'main' },
    });

  const tokenWith = (...capabilities: string[]): Promise<string> =>
    gangway.client.token({ name: 'Push', capabilities });

  /** A clone of somebody's, with a first commit. */
  function work(files: Record<string, string> | string): string {
    const folder = tempDir();
    folders.push(folder);
    git(folder, 'init', '--quiet', '--initial-branch=main');
    if (typeof files === 'string') cpSync(files, folder, { recursive: true });
    else for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    commit(folder, 'First');
    return folder;
  }

  function commit(folder: string, message: string): void {
    git(folder, 'add', '--all');
    git(folder, 'commit', '--quiet', '--allow-empty', '-m', message);
  }

  const address = (name: string, token: string): string =>
    `${gangway.url.replace('://', `://me:${token}@`)}/git/${name}.git`;

  /** What it says on its outputs, and how it ended. */
  function push(
    folder: string,
    to: string,
    ...args: string[]
  ): Promise<{ code: number; said: string }> {
    const env = { PATH: process.env['PATH'], HOME: folder, GIT_TERMINAL_PROMPT: '0' };
    return new Promise((resolve) => {
      const command = ['push', to, ...(args.length > 0 ? args : ['main'])];
      execFile('git', command, { cwd: folder, env }, (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code);
        resolve({ code, said: `${stdout}${stderr}` });
      });
    });
  }

  const page = async ({ slug }: AppInfo): Promise<string> =>
    (await gangway.client.visit(slug)).text;

  it('builds a Vite app and has it live in one command, with the log in the output', async () => {
    const app = await pushedApp('Site');
    const token = await tokenWith('deploy_apps');
    const source = () => gangway.client.ask(`/api/apps/${app.id}/source`);
    assert.equal((await source()).status, 404);
    const { code, said } = await push(work(vite), address(app.slug, token));
    assert.equal(code, 0, said);
    assert.match(said, /^remote: \$ npm run build/m);
    assert.match(said, /^remote: Ready\./m);
    assert.match(said, new RegExp(`^remote: Live at ${app.url}`, 'm'));
    assert.match(said, /\[new branch\] +main -> main/);
    assert.match(await page(app), /<script/);
    const zip = await source();
    assert.deepEqual([zip.status, zip.headers.get('content-type')], [200, 'application/zip']);
    assert.ok(/^PK.*index\.html.*package\.json/s.test(zip.text));
    const { app: found } = await gangway.client.must<{
      app: { latestDeployment: { trigger: string; commitMessage: string; commitAuthor: string } };
    }>(
      'query($id: ID!) { app(id: $id) { latestDeployment { trigger commitMessage commitAuthor } } }',
      { id: app.id },
    );
    assert.deepEqual(found.latestDeployment, {
      trigger: 'git_push',
      commitMessage: 'First',
      commitAuthor: 'Ada Byron <ada@example.com>',
    });
  });

  it('deploys pushes to the branch alone, forced ones too', async () => {
    const app = await pushedApp('Pages');
    const to = address(app.id, await tokenWith('deploy_apps'));
    const folder = work({ 'index.html': 'one' });
    assert.equal((await push(folder, to)).code, 0);
    assert.equal(await page(app), 'one');
    writeFileSync(join(folder, 'index.html'), 'two');
    git(folder, 'commit', '--quiet', '--all', '--amend', '-m', 'Other');
    const other = await push(folder, to, 'main:topic');
    assert.match(other.said, /^remote: Only a push to main is deployed\./m);
    assert.equal(await page(app), 'one');
    assert.notEqual((await push(folder, to)).code, 0, 'it is no fast-forward');
    const forced = await push(folder, to, '--force', 'main');
    assert.match(forced.said, /^remote: Live at/m);
    assert.equal(await page(app), 'two');
    const again = await push(folder, to);
    assert.match(again.said, /Everything up-to-date/);
  });

  it('shows another branch at an address of its own, with its own variables, until it is removed', async () => {
    const app = await pushedApp('Cart');
    const { client } = gangway;
    const to = address(app.slug, await tokenWith('deploy_apps'));
    await client.must(
      'mutation($id: ID!) { updateApp(id: $id, previewBranches: ["feat/*"]) { id } }',
      { id: app.id },
    );
    const entries = [
      { key: 'WHERE', value: 'live', targets: ['production'] },
      { key: 'SHOWN', value: 'preview', targets: ['preview'] },
    ];
    await client.must(
      'mutation($id: ID!, $entries: [EnvEntryInput!]!) { upsertEnv(appId: $id, entries: $entries) { id } }',
      { id: app.id, entries },
    );
    const server =
      'require("http").createServer((q, a) => a.end([process.env.WHERE, process.env.SHOWN].join()))' +
      '.listen(process.env.PORT)';
    const folder = work({ 'index.js': server, Procfile: 'web: node index.js' });
    const { said } = await push(folder, to, 'main', 'main:feat/cart');
    assert.match(said, /^remote: feat\/cart gets a preview\./m);
    assert.equal(await page(app), 'live,');
    interface Shown {
      previews: { id: string; branch: string; url: string | null; status: string }[];
    }
    const shown = async (): Promise<Shown['previews'][number] | undefined> => {
      const query = 'query($id: ID!) { previews(appId: $id) { id branch url status commitSha } }';
      return (await client.must<Shown>(query, { id: app.id })).previews[0];
    };
    await eventually('shown', async () => (await shown())?.status === 'active');
    const preview = await shown();
    assert.equal(preview?.url, app.url.replace('cart', 'feat-cart-cart'));
    assert.equal((await client.visit('feat-cart-cart')).text, ',preview');
    // It is an app for who looks closer, and in no list.
    const { apps, app: own } = await client.must<{
      apps: { nodes: { id: string }[] };
      app: { deployments: { nodes: { branch: string; status: string }[] } };
    }>(
      'query($id: ID!) { apps { nodes { id } } app(id: $id) { deployments { nodes { branch status } } } }',
      { id: preview.id },
    );
    assert.ok(apps.nodes.every(({ id }) => id !== preview.id));
    assert.deepEqual(own.deployments.nodes, [{ branch: 'feat/cart', status: 'ready' }]);
    const removed = await push(folder, to, ':feat/cart');
    assert.match(removed.said, /^remote: The preview of feat\/cart is closed\./m);
    await eventually('gone', async () => (await client.visit('feat-cart-cart')).status === 404);
    assert.equal((await shown())?.status, 'closed');
    assert.equal(await page(app), 'live,');
  });

  it('tells of a deployment that failed, and takes the push all the same', async () => {
    const app = await pushedApp('Broken');
    const to = address(app.slug, await tokenWith('deploy_apps'));
    const { code, said } = await push(work({ 'readme.md': 'nothing' }), to);
    assert.equal(code, 0);
    assert.match(said, /^remote: Failed: .*Looked for/m);
    assert.match(said, /^remote: The deployment is failed\./m);
  });

  it('takes pushes of nobody else, and of no app that is deployed otherwise', async () => {
    const app = await pushedApp('Closed');
    const uploaded = await gangway.client.createApp('Uploaded');
    const fetched = await gangway.client.createApp('Fetched', {
      source: 'GIT',
      git: { repository: 'https://git.example/a.git', branch: 'main' },
    });
    const folder = work({ 'index.html': 'x' });
    const good = await tokenWith('deploy_apps');
    const tries: [string, RegExp][] = [
      [address(app.slug, 'gwy_wrong'), /Authentication failed|401/],
      [`${gangway.url}/git/${app.slug}.git`, /could not read Username|401/],
      [address(app.slug, await tokenWith('view_logs')), /403/],
      [address('nobody', good), /not found|404/],
      [address(uploaded.slug, good), /409/],
      [address(fetched.slug, good), /409/],
    ];
    for (const [to, reason] of tries) {
      const { code, said } = await push(folder, to);
      assert.notEqual(code, 0, to);
      assert.match(said, reason);
    }
    const fetching = await gangway.client.ask(
      `/git/${app.slug}.git/info/refs?service=git-upload-pack`,
      { headers: { authorization: `Basic ${Buffer.from(`me:${good}`).toString('base64')}` } },
    );
    assert.equal(fetching.status, 403);
  });

  it('refuses objects that are not right, and tells so', async () => {
    const app = await pushedApp('Checked');
    const to = address(app.slug, await tokenWith('deploy_apps'));
    const folder = work({ 'index.html': 'x' });
    const blob = git(folder, 'rev-parse', 'HEAD:index.html');
    const tree = Buffer.concat([Buffer.from('100644 .git\0'), Buffer.from(blob, 'hex')]);
    writeFileSync(join(folder, 'tree'), tree);
    const bad = git(folder, 'hash-object', '-w', '-t', 'tree', '--literally', 'tree');
    const evil = git(folder, 'commit-tree', bad, '-m', 'Evil');
    const { code, said } = await push(folder, to, `${evil}:refs/heads/main`);
    assert.notEqual(code, 0);
    assert.match(said, /hasDotgit|fsck|unpack/i);
    const { app: found } = await gangway.client.must<{ app: { latestDeployment: unknown } }>(
      'query($id: ID!) { app(id: $id) { latestDeployment { id } } }',
      { id: app.id },
    );
    assert.equal(found.latestDeployment, null);
  });
});
