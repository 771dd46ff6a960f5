/** The page of backups in a real browser: a destination, a run, a schedule, and a restore to its verdict. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';

describe('the page of backups', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  before(async () => {
    dashboard = await openDashboard();
    later(() => dashboard.end());
    await dashboard.gangway.client.must(
      'mutation { createApp(input: {name: "Shop", source: UPLOAD}) { id } }',
    );
  });
  const dialog = (name: string | RegExp) => dashboard.page.getByRole('dialog', { name });
  const button = (name: string | RegExp) => dashboard.page.getByRole('button', { name });

  it('leads from nothing to a destination that works, with its recovery key', async () => {
    const { page, visit, requests } = dashboard;
    requests();
    await visit('/backups', 'Backups');
    await button('Choose where backups go').click();
    assert.deepEqual(requests().sort(), ['BackupRuns', 'Backups', 'Session']);
    await assertAccessible(page);
    await button('New destination').click();
    await page.getByLabel('Name').fill('Disk');
    await assertAccessible(page);
    await button('Create').click();
    const row = page.getByRole('row', { name: /Disk/ });
    await row.getByText('encrypted').waitFor();
    await row.getByRole('button', { name: 'Test' }).click();
    await page.getByText('Disk works').waitFor();
    await button('Actions of Disk').click();
    await page.getByRole('menuitem', { name: 'Show the recovery key' }).click();
    assert.match(await dialog('The recovery key').locator('code').innerText(), /^AGE-SECRET-KEY-1/);
    await button('I have kept it').click();
  });

  it('shows why a destination is refused, and keeps what was typed', async () => {
    const { page } = dashboard;
    await button('New destination').click();
    await page.getByLabel('Name').fill('Elsewhere');
    await page.getByLabel('Folder').fill('/etc');
    await button('Create').click();
    await dialog('New destination').getByRole('alert').waitFor();
    assert.equal(await page.getByLabel('Folder').inputValue(), '/etc');
    await page.keyboard.press('Escape');
  });

  it('makes a schedule, and pauses it', async () => {
    const { page } = dashboard;
    await page.getByRole('tab', { name: 'Schedules' }).click();
    await button('New schedule').click();
    await assertAccessible(page);
    await button('Make the schedule').click();
    const row = page.getByRole('row', { name: /Shop/ });
    await row.getByText('Every night at 3:00').waitFor();
    await row.getByRole('button', { name: 'Pause' }).click();
    await row.getByRole('button', { name: 'Resume' }).waitFor();
    await assertAccessible(page);
  });

  it('runs one for the instance, which only an encrypting destination takes', async () => {
    const { page } = dashboard;
    await button('Back up now').click();
    await page.getByLabel('What').selectOption('This Gangway itself');
    await dialog('Back up now').getByRole('button', { name: 'Back up' }).click();
    const row = page.getByRole('row', { name: /This Gangway/ });
    await row.getByText('Success').waitFor();
    await assertAccessible(page);
    await button('Actions of This Gangway').click();
    await page.getByRole('menuitem', { name: 'Download' }).waitFor();
    assert.equal(await page.getByRole('menuitem', { name: /Restore/ }).count(), 0);
    await page.getByRole('menuitem', { name: /Delete/ }).click();
    await button('Delete the backup').click();
    await row.waitFor({ state: 'detached' });
  });

  it('fits a phone', async () => {
    const { page, visit } = dashboard;
    await page.setViewportSize({ width: 360, height: 740 });
    await visit('/backups');
    await until('it is not wider than the screen', 10_000, async () => {
      return (await page.evaluate('document.documentElement.scrollWidth')) === 360;
    });
  });

  it('complains of nothing', () => assert.deepEqual(dashboard.complaints, []));
});
