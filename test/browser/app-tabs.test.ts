/** The environment, the domains and the console of an app, in a real browser. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';

describe('the tabs of an app', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  let at: string;
  before(async () => {
    dashboard = await openDashboard();
    later(() => dashboard.end());
    const { createApp } = await dashboard.gangway.client.must<{ createApp: { id: string } }>(
      'mutation { createApp(input: {name: "Shop", source: UPLOAD}) { id } }',
    );
    at = `/apps/${createApp.id}`;
  });
  const dialog = (name: string | RegExp) => dashboard.page.getByRole('dialog', { name });
  const button = (name: string | RegExp) => dashboard.page.getByRole('button', { name });

  it('set variables, one and many, and show a secret only when asked', async () => {
    const { page, visit } = dashboard;
    await visit(`${at}/environment`, 'Shop');
    await button('Add a variable').click();
    await page.getByLabel('Key').fill('API_KEY');
    await page.getByLabel('Value').fill('<b>very secret</b>');
    await assertAccessible(page);
    await button('Save').click();
    const row = page.getByRole('row', { name: /API_KEY/ });
    await row.waitFor();
    assert.equal(await row.getByText('very secret').count(), 0);
    await button('Show API_KEY').click();
    await row.getByText('<b>very secret</b>').waitFor();
    await button('Edit as text').click();
    const text = page.locator('.cm-content');
    await text.getByText('# API_KEY is secret').waitFor();
    await assertAccessible(page);
    await text.fill('API_KEY=other\nnot a line');
    await page.getByText('Line 2 is no KEY=value.').waitFor();
    assert.equal(await button('Save all').isDisabled(), true);
    await text.fill('API_KEY=other\nMODE="a b"\nOLD=1');
    await page.getByText('New: MODE, OLD. Changed: API_KEY.').waitFor();
    await page.getByLabel('New ones are secret').uncheck();
    await button('Save all').click();
    const mode = page.getByRole('row', { name: /MODE/ });
    await mode.getByText('a b', { exact: true }).waitFor();
    await assertAccessible(page);
    await button('Edit as text').click();
    await text.fill('MODE="a b"');
    await page.getByText('Deleted: OLD.').waitFor();
    await button('Save all').click();
    await page.getByRole('row', { name: /OLD/ }).waitFor({ state: 'detached' });
    await row.waitFor();
    await button('Change MODE').click();
    await page.getByLabel('For', { exact: true }).selectOption('Its previews alone');
    await button('Save').click();
    await mode.getByText('previews alone').waitFor();
    const { env } = await dashboard.gangway.client.must<{ env: object[] }>(
      'query($id: ID!) { env(appId: $id) { key isSecret value targets } }',
      { id: at.slice('/apps/'.length) },
    );
    assert.deepEqual(env, [
      { key: 'API_KEY', isSecret: true, value: null, targets: ['production', 'preview'] },
      { key: 'MODE', isSecret: false, value: 'a b', targets: ['preview'] },
    ]);
    await button('Delete MODE').click();
    await button('Delete the variable').click();
    await mode.waitFor({ state: 'detached' });
  });

  it('show the records that a domain needs, and why a host is refused', async () => {
    const { page, visit } = dashboard;
    await visit(`${at}/domains`, 'Shop');
    await button('Add a domain').click();
    await page.getByLabel('Host').fill('not a host');
    await dialog('Add a domain').getByRole('button', { name: 'Add' }).click();
    await dialog('Add a domain').getByRole('alert').waitFor();
    await page.getByLabel('Host').fill('shop.example.com');
    await dialog('Add a domain').getByRole('button', { name: 'Add' }).click();
    const domain = page.getByRole('article', { name: 'shop.example.com' });
    await domain.getByText('Missing').first().waitFor();
    await assertAccessible(page);
    await domain.getByRole('button', { name: 'Remove' }).click();
    await button('Remove the domain').click();
    await domain.waitFor({ state: 'detached' });
  });

  it('say why there is no console yet', async () => {
    const { page, visit } = dashboard;
    await visit(`${at}/console`, 'Shop');
    await page.getByText('The app does not run').waitFor();
    await assertAccessible(page);
  });

  it('fit a phone', async () => {
    const { page, visit } = dashboard;
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ['/environment', '/domains', '/console']) {
      await visit(at + path);
      await until(`${path} is not wider than the screen`, 10_000, async () => {
        return (await page.evaluate('document.documentElement.scrollWidth')) === 360;
      });
    }
  });

  it('complain of nothing', () => assert.deepEqual(dashboard.complaints, []));
});
