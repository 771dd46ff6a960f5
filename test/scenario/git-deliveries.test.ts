/**
 * A team with a git server of its own, whose hook delivers each push as Gitea does, five times: pushes by a real git
 * are live, once each, also where Gangway dies in between.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { git, GitServer } from '../support/git-server.ts';
import { needs } from '../support/programs.ts';

const secret = 'what the hook signs with';
const login = 'ada:s3cret-token';
/** As git runs it: it is told what moved on its standard input. */
const hook = `
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
const [url, secret] = process.argv.slice(2);
for (const line of readFileSync(0, 'utf8').trim().split('\\n')) {
  const [before, after, ref] = line.split(' ');
  const commit = { id: after, message: 'Change', timestamp: new Date().toISOString() };
  const repository = { full_name: 'acme/shop' };
  const body = JSON.stringify({ ref, before, after, head_commit: commit, commits: [commit], repository });
  const headers = {
    'content-type': 'application/json',
    'x-gitea-event': 'push',
    'x-gitea-delivery': after + ref,
    'x-gitea-signature': createHmac('sha256', secret).update(body).digest('hex'),
  };
  for (let time = 0; time < 5; time++) {
    const answer = await fetch(url, { method: 'POST', headers, body });
    console.log(answer.status, await answer.text());
  }
}
`;

interface Told {
  gitDeliveries: { commitSha: string; outcome: string; deploymentId: string | null }[];
  app: { deployments: { nodes: { id: string; status: string; commitSha: string }[] } };
}

describe('pushes to a git server that is connected', { skip: needs('git') }, () => {
  const server = new GitServer();
  let gangway: Gangway;
  let app: AppInfo;
  before(async () => {
    await server.open();
    gangway = await Gangway.open({ env: { GANGWAY_PRIVATE_NETWORKS: '127.0.0.0/8' } });
    const { client } = gangway;
    const { connectGitProvider: connection } = await client.must<{
      connectGitProvider: { id: string; webhookUrl: string };
    }>(
      `mutation($input: ConnectGitProviderInput!) { connectGitProvider(input: $input) { id webhookUrl } }`,
      {
        input: {
          ...{ provider: 'gitea', label: 'Ours', baseUrl: server.url, webhookSecret: secret },
          ...{ username: 'ada', token: 's3cret-token' },
        },
      },
    );
    server.create('acme/shop', { 'index.html': 'zero' });
    server.login = login;
    const bare = join(server.folder, 'acme/shop.git');
    git(bare, 'config', 'http.receivepack', 'true');
    writeFileSync(join(bare, 'deliver.mjs'), hook);
    const run = [process.execPath, join(bare, 'deliver.mjs'), connection.webhookUrl, secret];
    const file = join(bare, 'hooks', 'post-receive');
    writeFileSync(file, `#!/bin/sh\nexec ${run.map((one) => `'${one}'`).join(' ')}\n`);
    chmodSync(file, 0o755);
    app = await client.createApp('Shop', {
      source: 'GIT',
      git: { connectionId: connection.id, repository: 'acme/shop', branch: 'main' },
    });
  });
  after(async () => {
    await gangway.end();
    await server.close();
  });

  const told = (): Promise<Told> =>
    gangway.client.must<Told>(
      `query($id: ID!) { gitDeliveries(appId: $id) { commitSha outcome deploymentId }
        app(id: $id) { deployments { nodes { id status commitSha } } } }`,
      { id: app.id },
    );
  const isLive = (text: string): Promise<void> =>
    eventually(
      `${text} is live`,
      async () => (await gangway.client.visit(app.slug)).text === text,
      120_000,
    );

  it('are live, however often they are delivered', async () => {
    const work = join(server.folder, 'clone');
    const url = `${server.url.replace('://', `://${login}@`)}/acme/shop.git`;
    const env = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_GLOBAL: '/dev/null' };
    const run = promisify(execFile);
    await run('git', ['clone', '--quiet', url, work], { env });
    writeFileSync(join(work, 'index.html'), 'one');
    git(work, 'commit', '--quiet', '-am', 'Say one');
    const { stderr } = await run('git', ['push', 'origin', 'HEAD:main'], { cwd: work, env });
    assert.equal(stderr.match(/remote: 200 ok/g)?.length, 5, stderr);
    await isLive('one');
    const topic = await run('git', ['push', 'origin', 'HEAD:topic'], { cwd: work, env });
    assert.equal(topic.stderr.match(/remote: 200 ok/g)?.length, 5, topic.stderr);
    const { gitDeliveries, app: found } = await told();
    const outcomes = gitDeliveries.map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['other_branch', 'deployed']);
    assert.equal(found.deployments.nodes.length, 1);
    assert.ok(!gangway.output.includes('s3cret'));
  });

  it('are live although Gangway dies once it has them', async () => {
    const work = join(server.folder, 'acme/shop');
    git(work, 'pull', '--quiet', 'origin', 'main');
    const pushed = ['two', 'three', 'four'].map((text) =>
      server.commit('acme/shop', { 'index.html': text }),
    );
    await gangway.restart();
    await isLive('four');
    const isDone = ({ gitDeliveries, app: { deployments } }: Told): boolean =>
      gitDeliveries.every(({ outcome }) => outcome !== 'received') &&
      deployments.nodes.every(({ status }) => ['ready', 'superseded'].includes(status));
    await eventually('all is done', async () => isDone(await told()), 120_000);
    const { gitDeliveries, app: found } = await told();
    const known = gitDeliveries.map(({ commitSha }) => commitSha);
    assert.deepEqual(known.slice(0, 3), pushed.toReversed());
    const newest = found.deployments.nodes.filter(
      ({ commitSha, status }) => commitSha === pushed[2] && status === 'ready',
    );
    assert.equal(newest.length, 1, JSON.stringify(found));
  });
});
