/** The page of the instance, and an app's metrics, in a real browser. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { join } from '../support/access-world.ts';
import { cleanups } from '../support/cleanups.ts';
import {
  assertAccessible,
  type Dashboard,
  openDashboard,
  signInWith,
} from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { type AppInfo, archiveOf } from '../support/gangway-client.ts';
import { needs } from '../support/programs.ts';

const patienceMs = 60_000;
const server = `require('http').createServer((request, response) => {
  response.statusCode = request.url === '/broken' ? 500 : 200;
  response.end('hello');
}).listen(process.env.PORT)`;

describe('the pages of the instance', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  before(async () => {
    dashboard = await openDashboard();
    later(() => dashboard.end());
  });
  const button = (name: string | RegExp) => dashboard.page.getByRole('button', { name });
  const check = (name: string) =>
    dashboard.page.getByRole('listitem').filter({ hasText: name }).locator('.status');
  const asked = (): string[] => [...new Set(dashboard.requests())].sort();
  const fitsAPhone = async (path: string): Promise<void> => {
    await dashboard.page.setViewportSize({ width: 360, height: 740 });
    await dashboard.visit(path);
    await until(`${path} is not wider than the screen`, 10_000, async () => {
      return (await dashboard.page.evaluate('document.documentElement.scrollWidth')) === 360;
    });
    await dashboard.page.setViewportSize({ width: 1440, height: 900 });
  };

  it('say how it is, what it runs on and what it lacks, in requests side by side', async () => {
    const { page, visit, requests } = dashboard;
    await visit('/', 'Overview');
    requests();
    await page.getByRole('link', { name: 'Settings and health' }).click();
    await page.getByRole('region', { name: 'Health' }).waitFor();
    assert.deepEqual(asked(), ['Instance', 'InstanceStatus']);
    await check('/api/health').getByText('Answers').waitFor();
    await check('The edge').getByText('Not needed yet').waitFor();
    await check('Backup of the instance').getByText('Not scheduled').waitFor();
    const versions = page.getByRole('region', { name: 'Versions' });
    await versions.getByText(manifest.version, { exact: true }).waitFor();
    await versions.getByText(process.versions.node, { exact: true }).waitFor();
    for (const name of ['Processor', 'Memory', 'Disk']) {
      const used = await page.getByRole('meter', { name }).getAttribute('aria-valuenow');
      assert.ok(Number(used) >= 0 && Number(used) <= 100, `${name}: ${String(used)}`);
    }
    await page.getByRole('row', { name: /local.*Processes/ }).waitFor();
    await page.getByText('None is ordered for the instance').waitFor();
    await assertAccessible(page);
  });

  it('change settings, say why one is refused, and keep what was typed', async () => {
    const { page, gangway } = dashboard;
    const days = page.getByLabel('Days that logs are kept');
    const address = page.getByLabel('Public address');
    await days.fill('30');
    await button('Save').click();
    await page.getByText('Saved.').waitFor();
    const kept = await gangway.client.must('{ instanceSettings { logMaxDays publicUrl } }');
    assert.deepEqual(kept, { instanceSettings: { logMaxDays: 30, publicUrl: gangway.url } });
    await address.fill(`${gangway.url}/below`);
    await button('Save').click();
    const dialog = page.getByRole('dialog', { name: 'Change the public address?' });
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Change the address' }).click();
    await dialog.getByText('without a path').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await address.inputValue(), `${gangway.url}/below`);
    await button('Undo').click();
    assert.equal(await address.inputValue(), gangway.url);
  });

  it('add a server by a line that is shown once, and change and remove it by keyboard', async () => {
    const { page } = dashboard;
    const row = page.getByRole('row', { name: /Rack 2/ });
    const choose = async (item: string): Promise<void> => {
      await button('Actions of Rack 2').press('Enter');
      const chosen = page.getByRole('menuitem', { name: item });
      await chosen.waitFor();
      await chosen.press('Enter');
    };
    await button('Add a server').press('Enter');
    await page.getByLabel('Name').fill('Rack 2');
    await page.getByLabel('Take it over from another platform').press('Space');
    await assertAccessible(page);
    await page.keyboard.press('Enter');
    const shown = page.getByRole('dialog', { name: 'Connect Rack 2' });
    await shown.waitFor();
    await assertAccessible(page);
    const line = await shown.locator('code').innerText();
    assert.match(line, /^printf %s 'gwb_\S+' \| sh -c .*\/api\/agent\/takeover\.sh/);
    await shown.getByRole('button', { name: 'Copy' }).press('Enter');
    await shown.getByText('Copied').waitFor();
    await shown.getByRole('button', { name: 'I have kept it' }).press('Enter');
    await row.getByText('waits for its agent').waitFor();
    await row.getByText('Takeover: waiting').waitFor();
    assert.equal(await page.getByText('gwb_').count(), 0);

    await choose('Put nothing new on it');
    await until('the server drains', patienceMs, async () => {
      const { servers } = await dashboard.gangway.client.must<{ servers: { draining: boolean }[] }>(
        '{ servers { draining } }',
      );
      return servers.some(({ draining }) => draining);
    });
    await choose('Connect it anew…');
    await button('Show a new line').press('Enter');
    await shown.waitFor();
    assert.notEqual(await shown.locator('code').innerText(), line);
    await page.keyboard.press('Escape');
    await shown.waitFor({ state: 'hidden' });
    await assertAccessible(page);

    // It can be chosen for something new once its agent is connected.
    for (const path of ['/apps/new', '/databases/new']) {
      await dashboard.visit(path);
      if (path === '/apps/new') {
        await page.locator('.source', { hasText: 'Sample' }).click();
        await page.locator('.sample').first().click();
      }
      const choice = page.getByLabel('Server', { exact: true });
      const other = choice.locator('option', { hasText: 'Rack 2 (not connected)' });
      await other.waitFor({ state: 'attached' });
      assert.ok(await other.isDisabled());
      assert.equal(await choice.locator('option').count(), 2);
    }

    await fitsAPhone('/instance');
    await choose('Remove…');
    const dialog = page.getByRole('dialog', { name: 'Remove Rack 2?' });
    const remove = dialog.getByRole('button', { name: 'Remove the server' });
    assert.ok(await remove.isDisabled());
    await dialog.getByLabel('Type Rack 2 to confirm').fill('Rack 2');
    await remove.press('Enter');
    await page.getByText('Rack 2 is removed.').waitFor();
    await row.waitFor({ state: 'detached' });
  });

  it('tell somebody else whose page it is, and lead nobody there', async () => {
    const { browser, gangway } = dashboard;
    const { viewerTeam, roles } = await gangway.client.must<{
      viewerTeam: { id: string };
      roles: { id: string; name: string }[];
    }>('{ viewerTeam { id } roles { id name } }');
    const role = roles.find(({ name }) => name.toLowerCase() === 'viewer');
    const vic = await join(gangway, viewerTeam.id, role?.id ?? '', 'vic');
    const context = await browser.newContext({ baseURL: gangway.url });
    await signInWith(context, vic, gangway.url);
    const page = await context.newPage();
    await page.goto('/instance');
    await page.getByText('This page is for the instance administrator').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Settings and health' }).count(), 0);
    await context.close();
  });

  it('fit a phone', () => fitsAPhone('/instance'));

  describe("with an app's metrics", () => {
    let app: AppInfo;
    before(async () => {
      const files = { Procfile: 'web: node server.js', 'server.js': server };
      app = await dashboard.gangway.client.runningApp('Shop', archiveOf(files));
    });

    it('show what visitors asked and what it used, as it comes', async () => {
      const { page, visit, gangway } = dashboard;
      const { client } = gangway;
      await visit(`/apps/${app.id}/metrics`, 'Shop');
      await page.getByText('Nobody asked anything of it in this time').waitFor();
      for (const path of ['/', '/', '/', '/broken']) await client.visit(app.slug, path);
      const requests = page.getByRole('group', { name: 'Requests a second' });
      await requests.locator('canvas').waitFor({ timeout: patienceMs });
      await requests.getByText('5xx').waitFor();
      await page.getByText('1 (25%)').waitFor();
      const memory = page.getByRole('group', { name: 'Memory' });
      await memory.locator('canvas').waitFor({ timeout: patienceMs });
      await page.getByRole('combobox', { name: 'Time' }).selectOption('Last day');
      await requests.locator('canvas').waitFor();
      await assertAccessible(page);
      dashboard.requests();
      await visit(`/apps/${app.id}/metrics`, 'Shop');
      await memory.locator('canvas').waitFor();
      assert.deepEqual(asked(), ['AppHead', 'AppMetrics', 'Session']);
    });

    it('fit a phone', () => fitsAPhone(`/apps/${app.id}/metrics`));

    it('see that what runs it and the edge answer', async () => {
      await dashboard.visit('/instance', 'Instance');
      for (const name of ['Apps and databases', 'The edge']) {
        await check(name).getByText('Answers').first().waitFor();
      }
    });
  });

  it('complain of nothing', () => assert.deepEqual(dashboard.complaints, []));
});
