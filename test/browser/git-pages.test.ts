/** A team's git connections, and what git does to an app, in a real browser: with a Gitea and a GitHub of the test. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { hmac } from '../conformance/git-provider.suite.ts';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { GithubServer } from '../support/github-server.ts';
import { needs } from '../support/programs.ts';

const repository = 'acme/shop';

describe('the pages of git', { skip: needs('chromium', 'git') }, () => {
  const later = cleanups();
  /** Its git server is the Gitea, too. */
  const github = new GithubServer();
  let dashboard: Dashboard;
  let hook = { address: '', secret: '' };
  let appId = '';
  before(async () => {
    await github.open();
    later(() => github.close());
    github.git.answers.set('/api/v1/', answerAsGitea);
    github.git.answers.set('/organizations/', answerAsGithub);
    github.git.answers.set('/github-apps/', (_request, response) =>
      redirect(response, `${dashboard.gangway.url}/api/github/setup?installation_id=77`),
    );
    dashboard = await openDashboard({
      env: { GANGWAY_GITHUB_URL: github.url, GANGWAY_PRIVATE_NETWORKS: '127.0.0.0/8' },
    });
    later(() => dashboard.end());
  });
  const button = (name: string | RegExp) => dashboard.page.getByRole('button', { name });
  const tab = (name: string) =>
    dashboard.page.locator('.tabs').getByRole('link', { name, exact: true });

  /** Says that somebody pushed, as Gitea does. */
  async function deliver(branch: string, sha: string, person: string): Promise<void> {
    const commit = { id: sha, message: 'Change', timestamp: new Date().toISOString() };
    const body = JSON.stringify({
      ...{ ref: `refs/heads/${branch}`, before: '0'.repeat(40), after: sha },
      ...{ head_commit: commit, commits: [commit], repository: { full_name: repository } },
      ...{ pusher: { login: person } },
    });
    const headers = {
      'content-type': 'application/json',
      'x-gitea-event': 'push',
      'x-gitea-delivery': sha,
      'x-gitea-signature': hmac(Buffer.from(body), hook.secret),
    };
    const answer = await fetch(hook.address, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, await answer.text());
  }

  it('connect a provider, and tell what it has to be told', async () => {
    const { page, visit, requests } = dashboard;
    requests();
    await visit('/git', 'Git');
    await page.getByText('No git provider is connected').waitFor();
    assert.deepEqual(requests().sort(), ['GitPage', 'Session']);
    await assertAccessible(page);
    await button('Connect another').click();
    await page.getByLabel('Provider', { exact: true }).selectOption('gitea');
    await page.getByLabel('Name', { exact: true }).fill('<b>Ours</b>');
    await page.getByLabel('Address', { exact: true }).fill('ftp://git.example.com');
    await page.getByLabel('Token', { exact: true }).fill('token of ada');
    await assertAccessible(page);
    await button('Connect').click();
    await page.getByText('baseUrl cannot be used').waitFor();
    await page.getByLabel('Address', { exact: true }).fill(github.url);
    await button('Connect').click();
    await page.getByText('It is not shown again').waitFor();
    await assertAccessible(page);
    hook = {
      address: await page.getByLabel('Address', { exact: true }).inputValue(),
      secret: await page.getByLabel('Secret', { exact: true }).inputValue(),
    };
    assert.match(hook.secret, /^[0-9a-f]{64}$/);
    await button('I have kept it').click();
    await button('Webhook').click();
    await page.getByRole('dialog').getByLabel('Address', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Address', { exact: true }).inputValue(), hook.address);
    assert.equal(await page.getByLabel('Secret', { exact: true }).count(), 0);
    await button('Close').last().click();
  });

  it('make an app of one of its repositories', async () => {
    const { page, visit } = dashboard;
    github.git.create(repository, { 'index.html': 'one' });
    await visit('/apps/new', 'New app');
    await page.getByRole('radio', { name: /^Git/ }).check();
    await page.getByLabel('Search repositories').fill('nothing');
    await page.getByText('No repository of this name').waitFor();
    await page.getByLabel('Search repositories').fill('sho');
    await page.getByRole('radio', { name: repository }).check();
    assert.equal(await page.getByLabel('Branch', { exact: true }).inputValue(), 'main');
    await assertAccessible(page);
    await button('Deploy').click();
    await page.getByText('It is live.').waitFor();
    appId = /\/apps\/([^/]+)/.exec(page.url())?.[1] ?? '';
    await tab('Settings').click();
    await page.getByLabel('Previews of branches').fill('feat/*');
    await page.getByLabel('Only for changes of').fill('index.html\n\n src ');
    await page.getByLabel('Fetch submodules, too').check();
    const part = page.getByRole('region', { name: 'Git', exact: true });
    await part.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const { app } = await dashboard.gangway.client.must<{ app: unknown }>(
      'query($id: ID!) { app(id: $id) { previewBranches git { watchPaths submodules } } }',
      { id: appId },
    );
    assert.deepEqual(app, {
      previewBranches: ['feat/*'],
      git: { watchPaths: ['index.html', 'src'], submodules: true },
    });
  });

  it('show a branch once its push is approved, without a reload, and close it', async () => {
    const { page, requests, visit } = dashboard;
    requests();
    await visit(`/apps/${appId}/git`);
    await page.getByText('The next push to feat/* opens a preview.').waitFor();
    assert.deepEqual(requests().sort(), ['AppDeliveries', 'AppGitPage', 'AppHead', 'Session']);
    const sha = github.git.commit(repository, { 'index.html': 'new' }, 'Say new', 'feat/new');
    await deliver('feat/new', sha, 'stranger');
    const row = page.getByRole('row', { name: /feat\/new/ }).filter({ hasText: 'approval' });
    await row.waitFor();
    await assertAccessible(page);
    await row.getByRole('button', { name: 'Approve' }).click();
    const shown = page.getByRole('region', { name: 'Previews', exact: true }).getByRole('row');
    await shown.filter({ hasText: 'Active' }).waitFor({ timeout: 120_000 });
    await page.getByRole('link', { name: 'feat/new' }).click();
    await tab('Log').waitFor();
    for (const name of ['Settings', 'Domains', 'Environment', 'Git']) {
      assert.equal(await tab(name).count(), 0, name);
    }
    await page.getByRole('link', { name: 'The app that it is a preview of' }).click();
    await button('Close').first().click();
    await button('Close it').click();
    await shown.filter({ hasText: 'Closed' }).waitFor();
  });

  it('say what came of a push, and deploy it again', async () => {
    const { page } = dashboard;
    const sha = github.git.commit(repository, { 'index.html': 'two' });
    await deliver('main', sha, 'ada');
    const pushes = page.getByRole('region', { name: 'Pushes' }).first();
    await pushes.getByRole('link', { name: 'Deployed' }).waitFor();
    assert.equal(await button('Deploy again').count(), 1);
    await button('Deploy again').click();
    await page.getByText('It is live.').waitFor();
    await page.waitForURL(/\/deployments\//);
    await tab('Git').click();
    await pushes.getByRole('link', { name: 'Deployed' }).nth(1).waitFor();
  });

  it('connect GitHub by an App, which is made by a form of the page', async () => {
    const { page, visit } = dashboard;
    await visit('/git', 'Git');
    await button('Connect GitHub').click();
    await page.getByLabel('Organization').fill('no such/name');
    await button('Go on at GitHub').click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Organization').fill('acme');
    await assertAccessible(page);
    await button('Go on at GitHub').click();
    await page.getByText('The App is installed on').waitFor();
    await visit('/git', 'Git');
    await page.getByRole('row', { name: /acme GitHub/ }).waitFor();
    await assertAccessible(page);
  });

  it('name the apps of a connection before it is removed', async () => {
    const { page } = dashboard;
    const row = page.getByRole('row', { name: /<b>Ours<\/b>/ });
    await row.getByRole('button', { name: 'Remove' }).click();
    await page
      .getByRole('dialog')
      .getByText('“shop” stays as it is, and fetches no more.')
      .waitFor();
    await assertAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByText('is removed').waitFor();
  });

  it('complain of nothing', () => assert.deepEqual(dashboard.complaints, []));

  function answerAsGitea({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, github.url);
    const json = (body: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (pathname.endsWith('/permission')) {
      json({ permission: pathname.includes('/ada/') ? 'write' : 'read' });
      return;
    }
    const all = [{ full_name: repository, default_branch: 'main', private: true }];
    const wanted = searchParams.get('q') ?? '';
    json({ ok: true, data: all.filter(({ full_name }) => full_name.includes(wanted)) });
  }
});

/** The page where the manifest arrives, which leads back with a code. */
function answerAsGithub(request: IncomingMessage, response: ServerResponse): void {
  const state = new URL(request.url ?? '', 'http://github').searchParams.get('state') ?? '';
  void text(request).then((body) => {
    const manifest = new URLSearchParams(body).get('manifest') ?? '{}';
    const { redirect_url: back } = JSON.parse(manifest) as { redirect_url: string };
    redirect(response, `${back}?code=code-of-the-app&state=${encodeURIComponent(state)}`);
  });
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location }).end();
}
