/** Making an app and what comes of it, in a real browser against a real service: the story of the dashboard. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { needs } from '../support/programs.ts';

const server = `require('http').createServer((_, r) => r.end('<b>hello</b>')).listen(process.env.PORT)`;
const hello = {
  '.gitignore': '*.secret\n',
  'package.json':
    '{"name":"hello","scripts":{"build":"echo built $((40 + 2))","start":"node server.js"}}',
  'server.js': server,
  'mine.secret': 'x',
  'node_modules/left/index.js': '',
};
const broken = { 'package.json': '{"scripts":{"build":"echo no; exit 3","start":"true"}}' };

describe('apps in the dashboard', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gangway-dropped-'));
    later(() => rmSync(folder, { recursive: true }));
    dashboard = await openDashboard();
    later(() => dashboard.end());
  });

  function folderOf(name: string, files: Readonly<Record<string, string>>): string {
    for (const [path, text] of Object.entries(files)) {
      const file = join(folder, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return join(folder, name);
  }

  const appIn = (url: string): string => /\/apps\/([^/?]+)/.exec(url)?.[1] ?? '';

  it('makes an app of a folder, shows its build as it goes, and leads to it', async () => {
    const { page, visit, requests, context } = dashboard;
    await visit('/apps/new', 'New app');
    assert.deepEqual(requests().sort(), ['NewAppPage', 'Session']);
    await assertAccessible(page);
    await page.locator('input[webkitdirectory]').setInputFiles(folderOf('hello', hello));
    await page.getByText('Left out: ').waitFor();
    const told = await page.locator('.chosen').innerText();
    assert.match(told, /3 files/);
    for (const leftOut of ['node_modules/', 'mine.secret']) assert.match(told, new RegExp(leftOut));
    assert.equal(await page.getByLabel('Name').inputValue(), 'hello');
    requests();
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByRole('log').getByText('built 42').waitFor();
    await page.getByText('It is live.').waitFor();
    // Nothing was asked for twice: what happened came by itself.
    const asked = requests();
    for (const once of ['CreateApp', 'Redeploy', 'DeploymentPage', 'AppHead']) {
      assert.equal(asked.filter((name) => name === once).length, 1, `${once} of ${asked.join()}`);
    }
    await assertAccessible(page);
    const opened = context.waitForEvent('page');
    await page.getByRole('link', { name: 'Open the app' }).click();
    const app = await opened;
    await app.getByText('hello').waitFor();
    await app.close();
  });

  it('takes another version on the page of the app, and says why it failed', async () => {
    const { page, visit } = dashboard;
    const id = appIn(page.url());
    await visit(`/apps/${id}`, 'hello');
    await page.getByText('Latest deployment').waitFor();
    await assertAccessible(page);
    await page.locator('input[webkitdirectory]').setInputFiles(folderOf('broken', broken));
    await page.getByRole('button', { name: 'Deploy it' }).click();
    await page.getByText('What was live before still serves visitors.').waitFor();
    await page.getByRole('log').getByText('no', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Deployments', exact: true }).click();
    await page.getByRole('row').nth(2).waitFor();
    const states = await page.getByRole('row').locator('.status').allInnerTexts();
    assert.deepEqual(states, ['Failed', 'Ready']);
    await assertAccessible(page);
  });

  it('deploys a sample by the keyboard alone', async () => {
    const { page, visit } = dashboard;
    await visit('/apps/new', 'New app');
    await page.getByRole('radio', { name: /^Upload/ }).focus();
    for (let step = 0; step < 4; step += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.getByLabel('Name').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('-mine');
    await page.keyboard.press('Enter');
    await page.getByText('It is live.').waitFor();
    await page.getByRole('heading', { level: 1, name: /mine$/ }).waitFor();
  });

  it('refuses what is no archive before anything is sent', async () => {
    const { page, visit, requests } = dashboard;
    await visit('/apps/new', 'New app');
    requests();
    const files = page.locator('input[type=file]:not([webkitdirectory])');
    await files.setInputFiles({ name: 'shop.zip', mimeType: 'application/zip', buffer: Buffer.from('hello') }); // prettier-ignore
    await page.getByText('what is in it is no such archive').waitFor();
    const huge = join(folder, 'huge.zip');
    writeFileSync(huge, 'PK\x03\x04');
    truncateSync(huge, 600 * 2 ** 20);
    await files.setInputFiles(huge);
    await page.getByText('huge.zip has 600 MiB; an archive may have 512 MiB at most.').waitFor();
    assert.equal(
      await page.getByRole('button', { name: 'Deploy', exact: true }).isDisabled(),
      true,
    );
    assert.deepEqual(requests(), []);
    await assertAccessible(page);
  });

  it('offers images and their tags while one is typed', async () => {
    const { page, visit } = dashboard;
    // As where the server runs containers.
    await page.route('**/api/graphql', async (route) => {
      if (!String(route.request().postData()).includes('NewAppPage')) return route.fallback();
      const answer = await route.fetch();
      const text = (await answer.text()).replaceAll('"process"', '"docker"');
      return route.fulfill({ response: answer, body: text });
    });
    await visit('/apps/new', 'New app');
    await page.getByRole('radio', { name: /^Image/ }).check();
    await page.getByLabel('Image', { exact: true }).fill('postg');
    const offered = (value: string) => page.locator(`datalist option[value="${value}"]`);
    await offered('postgres').waitFor({ state: 'attached' });
    await page.getByLabel('Image', { exact: true }).fill('postgres:1');
    await page.locator('datalist option[value^="postgres:1"]').first().waitFor({ state: 'attached' }); // prettier-ignore
    assert.equal(await page.getByLabel('Name').inputValue(), 'postgres');
    await assertAccessible(page);
    await page.unroute('**/api/graphql');
  });

  it('keeps what is typed in settings while the app changes, and saves the touched alone', async () => {
    const { gangway, page, visit } = dashboard;
    const name = `<b>ü</b>${'W'.repeat(90)}`;
    const { createApp } = await gangway.client.must<{ createApp: { id: string } }>(
      'mutation($name: String!) { createApp(input: {name: $name, source: UPLOAD}) { id } }',
      { name },
    );
    const { id } = createApp;
    await page.setViewportSize({ width: 360, height: 740 });
    await visit(`/apps/${id}/settings`, name);
    await page.getByLabel('Memory in MiB').waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
    await page.setViewportSize({ width: 1440, height: 900 });
    await assertAccessible(page);
    await page.getByLabel('Memory in MiB').fill('128');
    await page.getByLabel('Name').fill('Renamed here');
    await gangway.client.must(
      'mutation($id: ID!) { updateApp(id: $id, resources: {memoryMb: 256, cpus: 2, replicas: 1}) { id } }',
      { id },
    );
    const general = page.getByRole('region', { name: 'General' });
    await general.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Renamed here' }).waitFor();
    assert.equal(await page.getByLabel('Memory in MiB').inputValue(), '128');
    const read = 'query($id: ID!) { app(id: $id) { name resources { memoryMb cpus } } }';
    assert.deepEqual(await gangway.client.must(read, { id }), {
      app: { name: 'Renamed here', resources: { memoryMb: 256, cpus: 2 } },
    });
    await page.locator('datalist option[value="22"]').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Show the address' }).click();
    assert.match(await page.getByLabel('Address', { exact: true }).inputValue(), /deploy-hook/);
  });

  it('deletes an app once its name is typed', async () => {
    const { page, gangway } = dashboard;
    await page.getByRole('button', { name: 'Delete this app…' }).click();
    const really = page.getByRole('button', { name: 'Delete the app' });
    assert.equal(await really.isDisabled(), true);
    await page.getByLabel('Type Renamed here to confirm').fill('Renamed here');
    await really.click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'hello', exact: true }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Renamed here' }).count(), 0);
    const { apps } = await gangway.client.must<{ apps: { totalCount: number } }>('{ apps { totalCount } }'); // prettier-ignore
    assert.equal(apps.totalCount, 2);
  });

  it('complains of nothing', () => {
    assert.deepEqual(dashboard.complaints, []);
  });
});
