/** Databases in the dashboard: made, reached, talked to, looked at, stopped, and removed, by a person in a browser. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';

const patienceMs = 60_000;

describe('databases in the dashboard', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  let path = '';
  before(async () => {
    dashboard = await openDashboard({
      env: {
        GANGWAY_DOCKER_HUB_URL: '',
        GANGWAY_DOCKER_REGISTRY_URL: '',
        GANGWAY_NODE_INDEX_URL: '',
        GANGWAY_NPM_REGISTRY_URL: '',
      },
    });
    later(() => dashboard.end());
    dashboard.page.setDefaultTimeout(patienceMs);
  });

  it('are made with an engine, a version and a name, and come to run without a reload', async () => {
    const { page, visit, requests } = dashboard;
    await visit('/databases/new', 'New database');
    const version = page.getByRole('combobox', { name: 'Version' });
    await page.getByText('No registry is reached').waitFor();
    assert.match(await version.innerText(), /18 · 18\.4 · cared for until 2030-11-14/);
    await page.getByRole('radio', { name: 'Redis' }).check();
    await until('the versions of the engine', patienceMs, async () =>
      (await version.innerText()).includes('8.2'),
    );
    await page.getByRole('radio', { name: 'PostgreSQL' }).check();
    await assertAccessible(page);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Orders');
    requests();
    await page.getByRole('button', { name: 'Create database' }).click();
    await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
    path = new URL(page.url()).pathname;
    assert.match(path, /^\/databases\/db_/);
    await page.getByText('Running', { exact: true }).waitFor({ timeout: patienceMs });
  });

  it('show their address, and the password to who asks for it', async () => {
    const { page, visit, requests } = dashboard;
    requests();
    await visit(path, 'Orders');
    await page.getByText('No app refers to it').waitFor();
    assert.deepEqual(requests().sort(), ['Database', 'Session']);
    const address = page.locator('.database-connection code');
    const masked = await address.innerText();
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('button', { name: 'Copy the connection string' }).waitFor();
    const shown = await address.innerText();
    assert.match(shown, /^postgres(ql)?:\/\/app:[^*]+@/);
    assert.notEqual(shown, masked);
    await page.getByRole('button', { name: 'Hide' }).click();
    assert.equal(await address.innerText(), masked);
    await assertAccessible(page);
  });

  it('have a console, whose shell is there again behind a reload', async () => {
    const { page } = dashboard;
    await page.getByRole('link', { name: 'Console' }).click();
    const screen = page.locator('.xterm-rows');
    await page.getByText('Connected').waitFor();
    await page.locator('.xterm-helper-textarea').focus();
    await page.keyboard.type('SELECT 40 + 2 AS sum;\n');
    await screen.getByText('42').waitFor();
    await assertAccessible(page);
    await page.reload();
    await screen.getByText('42').waitFor();
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByRole('button', { name: 'New console' }).waitFor();
  });

  it('show what they use, and their backups', async () => {
    const { page } = dashboard;
    await page.getByRole('link', { name: 'Metrics' }).click();
    await page
      .getByRole('group', { name: 'Memory' })
      .locator('canvas')
      .waitFor({ timeout: patienceMs });
    await assertAccessible(page);
    await page
      .getByRole('navigation', { name: 'Database' })
      .getByRole('link', { name: 'Backups' })
      .click();
    await page.getByText('No backup yet').waitFor();
    await assertAccessible(page);
  });

  it('get another password, stop, start, and go to trash only by their name', async () => {
    const { page } = dashboard;
    await page
      .getByRole('navigation', { name: 'Database' })
      .getByRole('link', { name: 'Settings' })
      .click();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Make a new password' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make a new password' }).click();
    await page.getByRole('dialog', { name: 'The new connection string' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page
      .getByRole('dialog', { name: 'Stop Orders?' })
      .getByRole('button', { name: 'Stop' })
      .click();
    await page.getByText('Stopped', { exact: true }).waitFor({ timeout: patienceMs });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Running', { exact: true }).waitFor({ timeout: patienceMs });
    await page.getByRole('button', { name: 'Delete the database' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete Orders?' });
    assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled());
    await dialog.getByRole('textbox').fill('Orders');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByText('is in trash for 7 days').waitFor();
  });

  it('fit a phone of 360 pixels', async () => {
    const { page, visit } = dashboard;
    await page.setViewportSize({ width: 360, height: 740 });
    await visit('/databases/new', 'New database');
    const wide = await page.evaluate('document.documentElement.scrollWidth');
    assert.equal(wide, 360);
    assert.deepEqual(dashboard.complaints, []);
  });
});
