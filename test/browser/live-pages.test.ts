/** Pages that stay open while things change, go away and come back, in a real browser against a real service. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Page, WebSocketRoute } from 'playwright-core';
import {
  join as joinTeam,
  lend,
  makeDatabase,
  makeFolder,
  makeRole,
  userIdOf,
} from '../support/access-world.ts';
import { tar } from '../support/archives.ts';
import { cleanups } from '../support/cleanups.ts';
import {
  assertAccessible,
  type Dashboard,
  openDashboard,
  signInWith,
} from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';

// What the browser itself says of a server or a network that is away.
const away = /^Failed to load resource|^WebSocket connection to/;

describe('open pages', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  const sockets: WebSocketRoute[] = [];
  before(async () => {
    dashboard = await openDashboard({ expected: away });
    later(() => dashboard.end());
    await dashboard.page.routeWebSocket(/\/api\/graphql$/, (socket) => {
      socket.connectToServer();
      sockets.push(socket);
    });
  });

  /** Fails where the page was loaded anew since. */
  async function keeping(page: Page, act: () => Promise<void>): Promise<void> {
    await page.evaluate('window.isKept = true');
    await act();
    assert.equal(await page.evaluate('window.isKept'), true, 'the page was loaded anew');
  }

  it('go on with the log of a build behind a lost connection: no line twice, in its colours', async () => {
    const { gangway, page, visit } = dashboard;
    const { client } = gangway;
    const build = `console.log('first line\\n\\x1b[1;31mred\\x1b[0m line');
      const timer = setInterval(() => {
        if (!require('fs').existsSync('go-on')) return;
        console.log('last line');
        clearInterval(timer);
      }, 50);`;
    const archive = gzipSync(
      tar(
        { name: 'package.json', data: '{"scripts":{"build":"node build.cjs","start":"true"}}' },
        { name: 'build.cjs', data: build },
      ),
    );
    const { id } = await client.createApp('Held');
    await client.mustUpload(id, archive);
    const deployment = await client.redeploy(id);
    await visit(`/apps/${id}/deployments/${deployment}`, 'Held');
    const log = page.getByRole('log');
    await log.getByText('red line').waitFor();
    assert.equal(await log.locator('.line-ink-1.line-bold').innerText(), 'red');
    await assertAccessible(page);
    const before = sockets.length;
    await sockets.at(-1)?.close({ code: 1012 });
    await until('there is another connection', 20_000, () => sockets.length > before);
    const files = readdirSync(gangway.dataDir, { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((path) => basename(path) === 'build.cjs')) {
      writeFileSync(join(gangway.dataDir, dirname(file), 'go-on'), '');
    }
    await log.getByText('last line').waitFor();
    assert.equal(await log.getByText('first line').count(), 1);
  });

  it('show in one tab what is edited in another, and say where both edit the same', async () => {
    const { gangway, page, context, visit } = dashboard;
    const { id } = await gangway.client.createApp('Shop');
    await visit(`/apps/${id}/settings`, 'Shop');
    const other = await context.newPage();
    later(() => other.close());
    await other.goto(`/apps/${id}/settings`);
    await page.getByLabel('Memory in MiB').fill('128');
    await page.getByLabel('Processes').fill('64');
    await other.getByLabel('Memory in MiB').fill('256');
    await other.getByLabel('Name').fill('Shop two');
    const save = (tab: Page, part: string) =>
      tab.getByRole('region', { name: part }).getByRole('button', { name: 'Save' }).click();
    await save(other, 'General');
    await save(other, 'Resources');
    await page.getByRole('heading', { level: 1, name: 'Shop two' }).waitFor();
    const told = page.getByText('Somebody else has changed this meanwhile');
    await told.waitFor();
    assert.equal(await page.getByLabel('Memory in MiB').inputValue(), '128');
    assert.equal(await page.getByLabel('Name').inputValue(), 'Shop two');
    await assertAccessible(page);
    await page.getByLabel('Memory in MiB').fill('256');
    await told.waitFor({ state: 'detached' });
    await save(page, 'Resources');
    await other.getByLabel('Processes').and(other.locator('[value="64"]')).waitFor();
    assert.deepEqual(
      await gangway.client.must('query($id: ID!) { app(id: $id) { resources { memoryMb pids } } }', { id }), // prettier-ignore
      { app: { resources: { memoryMb: 256, pids: 64 } } },
    );
    await gangway.client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id });
    await page.getByText('There is no such app').waitFor();
    await other.getByText('There is no such app').waitFor();
  });

  it('follow what somebody may do with what lies in a folder, by its tabs and buttons', async () => {
    const { gangway, browser } = dashboard;
    const { client } = gangway;
    const { viewerTeam } = await client.must<{ viewerTeam: { id: string } }>(
      '{ viewerTeam { id } }',
    );
    const folder = await makeFolder(client, viewerTeam.id, 'Lent');
    const app = await client.createApp('Lent app', { folderId: folder });
    const database = await makeDatabase(client, 'Lent database', folder);
    const role = await makeRole(client, viewerTeam.id, 'Guest', []);
    const guest = await joinTeam(gangway, viewerTeam.id, role, 'guest');
    const guestId = await userIdOf(guest);
    await lend(client, folder, guestId, ['view_logs', 'control_databases']);
    const context = await browser.newContext({ baseURL: gangway.url });
    later(() => context.close());
    await signInWith(context, guest, gangway.url);
    const page = await context.newPage();
    const tab = (name: string) => page.locator('.tabs').getByRole('link', { name, exact: true });
    await page.goto(`/apps/${app.id}/log`);
    await tab('Log').waitFor();
    assert.equal(await tab('Log').getAttribute('aria-current'), 'page');
    assert.equal(await tab('Environment').count(), 0);
    await page.goto(`/databases/${database}/log`);
    await page.getByRole('button', { name: 'Start' }).waitFor();
    assert.equal(await tab('Log').getAttribute('aria-current'), 'page');
    assert.equal(await tab('Console').count(), 0);
    await assertAccessible(page);
    await keeping(page, async () => {
      await lend(client, folder, guestId, ['open_database_console']);
      await tab('Console').waitFor();
      await tab('Log').waitFor({ state: 'detached' });
      assert.equal(await page.getByRole('button', { name: 'Start' }).count(), 0);
      await client.must('mutation($id: ID!) { deleteDatabase(id: $id, force: true) }', { id: database }); // prettier-ignore
      await page.getByText('There is no such database').waitFor();
      await page.getByRole('link', { name: 'To the overview' }).click();
      await page.getByRole('link', { name: 'Lent app' }).waitFor();
      await lend(client, folder, guestId, []);
      await page.getByRole('link', { name: 'Lent app' }).waitFor({ state: 'detached' });
      await client.must('mutation($id: ID!) { removeMember(userId: $id) }', { id: guestId });
      await page.getByText('You are in no team yet').waitFor();
    });
  });

  it('go on behind an hour without a network, also with what was never loaded', async () => {
    const { gangway, page, context, visit } = dashboard;
    await page.clock.install();
    await visit('/', 'Overview');
    await keeping(page, async () => {
      await context.setOffline(true);
      await page.getByRole('link', { name: 'Activity' }).click();
      await page.locator('.skeleton').waitFor();
      await page.keyboard.press('Control+k');
      await page.clock.fastForward('01:00:00');
      await context.setOffline(false);
      await page.getByRole('dialog', { name: 'Search' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor();
      await page.clock.resume();
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('link', { name: 'Held', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Held' }).waitFor();
      await context.setOffline(true);
      await page.getByRole('link', { name: 'Deployments', exact: true }).click();
      await context.setOffline(false);
      await page.getByRole('row').nth(1).waitFor();
      await gangway.kill9();
      await page.getByText('Offline: what you see may be old').waitFor();
      await page.getByRole('link', { name: 'Trash' }).click();
      await gangway.start();
      await page.getByRole('cell', { name: 'Shop two' }).waitFor();
    });
  });

  it('complain of nothing', () => assert.deepEqual(dashboard.complaints, []));
});
