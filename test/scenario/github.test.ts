/** A team that connects a GitHub Enterprise, as a person with a browser does, and pushes to it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { hmac } from '../conformance/git-provider.suite.ts';
import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { GithubServer } from '../support/github-server.ts';
import { needs } from '../support/programs.ts';

const file = new URL('../fixtures/git/github/push.json', import.meta.url);
const pushed = JSON.parse(readFileSync(file, 'utf8')) as {
  headers: Record<string, string>;
  body: Record<string, unknown>;
};

interface Connected {
  gitConnections: { id: string; provider: string; label: string; webhookUrl: string }[];
}

describe('GitHub', { skip: needs('git') }, () => {
  const github = new GithubServer();
  let gangway: Gangway;
  before(async () => {
    await github.open();
    gangway = await Gangway.open({
      env: { GANGWAY_GITHUB_URL: github.url, GANGWAY_PRIVATE_NETWORKS: '127.0.0.0/8' },
    });
  });
  after(async () => {
    await gangway.end();
    await github.close();
  });

  const push = async (after: string, message: string): Promise<number> => {
    const head_commit = { id: after, message, timestamp: new Date().toISOString() };
    const body = JSON.stringify({ ...pushed.body, after, head_commit });
    const { status } = await gangway.client.ask('/api/github/webhook', {
      method: 'POST',
      body,
      headers: {
        ...pushed.headers,
        'x-github-delivery': after,
        'x-github-hook-installation-target-id': String(github.appId),
        'x-hub-signature-256': `sha256=${hmac(Buffer.from(body), github.webhookSecret)}`,
        cookie: 'none=none',
      },
    });
    return status;
  };

  it('githubUrl is where an App is made, whose pushes are live and told at the commit', async () => {
    const { client } = gangway;
    const { startGithubConnect: start } = await client.must<{
      startGithubConnect: { actionUrl: string; manifest: string; state: string };
    }>('mutation { startGithubConnect(org: "acme") { actionUrl manifest state } }');
    assert.ok(start.actionUrl.startsWith(`${github.url}/organizations/acme/settings/apps/new?`));
    const manifest = JSON.parse(start.manifest) as { redirect_url: string; setup_url: string };
    const path = (url: string, query: string): string => `${new URL(url).pathname}?${query}`;
    const returned = `code=code-of-the-app&state=${start.state}`;
    const back = await client.ask(path(manifest.redirect_url, returned));
    assert.equal(back.status, 303, back.text);
    const installed = await client.ask(path(manifest.setup_url, 'installation_id=77'));
    assert.match(installed.text, /installed on <b>acme<\/b>/);

    const { gitConnections } = await client.must<Connected>(
      '{ gitConnections { id provider label webhookUrl } }',
    );
    const [connection] = gitConnections;
    assert.ok(connection);
    assert.deepEqual([connection.provider, connection.label], ['github', 'acme']);
    assert.equal(connection.webhookUrl, `${client.url}/api/github/webhook`);
    const listed = await client.must<{ gitRepositories: { fullName: string }[] }>(
      'query($id: ID!) { gitRepositories(connectionId: $id) { fullName } }',
      { id: connection.id },
    );
    assert.deepEqual(listed.gitRepositories, [{ fullName: 'acme/shop' }]);

    github.git.create('acme/shop', { 'index.html': 'first' });
    const app = await client.createApp('Shop', {
      source: 'GIT',
      git: { connectionId: connection.id, repository: 'acme/shop', branch: 'main' },
    });
    const sha = github.git.commit('acme/shop', { 'index.html': 'second' });
    assert.equal(await push(sha, 'Say more'), 200);
    const live = async (): Promise<boolean> => (await client.visit(app.slug)).text === 'second';
    await eventually('live', live, 120_000);
    await eventually('told', () => github.statuses.length === 2);
    const told = github.statuses.map(({ repository, sha, state, target_url, context }) => ({
      ...{ repository, sha, state, target_url, context },
    }));
    const common = {
      repository: 'acme/shop',
      sha,
      target_url: app.url,
      context: `gangway/${app.slug}`,
    };
    assert.deepEqual(told, [
      { ...common, state: 'pending' },
      { ...common, state: 'success' },
    ]);

    const deploy = async (): Promise<string> => {
      const { redeploy } = await client.must<{ redeploy: { id: string } }>(
        'mutation($id: ID!) { redeploy(appId: $id) { id } }',
        { id: app.id },
      );
      const ended = async (): Promise<{ status: string; error: string | null }> =>
        (
          await client.must<{ deployment: { status: string; error: string | null } }>(
            'query($id: ID!) { deployment(id: $id) { status error } }',
            redeploy,
          )
        ).deployment;
      await eventually('ended', async () => /ready|failed/.test((await ended()).status), 120_000);
      const { status, error } = await ended();
      return `${status} ${String(error)}`;
    };
    github.revokeTokens();
    assert.match(await deploy(), /^failed .*refuses the credentials of the connection/);
    assert.equal(await deploy(), 'ready null', 'another token is got');

    const { activity } = await client.must<{
      activity: { nodes: { action: string; target: string | null }[] };
    }>('{ activity(first: 20) { nodes { action target } } }');
    const actions = activity.nodes.map(({ action, target }) => `${action} ${String(target)}`);
    assert.ok(
      actions.some((one) => one.startsWith('startGithubConnect ')),
      actions.join(),
    );
    assert.ok(actions.includes(`github_connect git-connection:${connection.id} acme`));
    const log = gangway.output;
    for (const secret of [github.webhookSecret, 'BEGIN RSA', 'ghs_', start.state]) {
      assert.ok(!log.includes(secret), secret);
    }
  });
});
