/** The pages of the team, its tokens, activity and trash, and of the account, in a real browser. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { AuthenticatorApp } from '../support/authenticator-app.ts';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { owner } from '../support/gangway-client.ts';
import { needs } from '../support/programs.ts';

const hostile = '<b>"משרד" & Söhne</b> '.repeat(4).trim();

// What the browser itself says of the refusals that the test provokes.
const refused = /^Failed to load resource: the server responded with a status of 40[13]/;

describe('the pages of a team', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  before(async () => {
    dashboard = await openDashboard({ expected: refused });
    later(() => dashboard.end());
  });
  const dialog = (name: string | RegExp) => dashboard.page.getByRole('dialog', { name });
  const button = (name: string | RegExp) => dashboard.page.getByRole('button', { name });

  it('invite somebody, with the link shown once', async () => {
    const { page, visit, requests } = dashboard;
    requests();
    await visit('/team', 'Team');
    await page.getByRole('row', { name: /you/ }).waitFor();
    assert.deepEqual(requests().sort(), ['Session', 'TeamPage']);
    await assertAccessible(page);
    await button('Invite').click();
    await dialog('Invite somebody').getByLabel('Email').fill('bob@example.com');
    await assertAccessible(page);
    await button('Make the link').click();
    const link = await dialog('The invite').locator('code').innerText();
    assert.match(link, /^http.*\/invite\//);
    await button('I have kept it').click();
    const invited = page.getByRole('cell', { name: 'bob@example.com' });
    await invited.waitFor();
    await button('Take back').click();
    await invited.waitFor({ state: 'detached' });
    // By the keyboard alone: the focus is back where it was.
    await button('Invite').focus();
    await page.keyboard.press('Enter');
    await dialog('Invite somebody').getByLabel('Email').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await button('Invite').and(page.locator(':focus')).waitFor();
  });

  it('make a role of the team, change it, and show what cannot be done', async () => {
    const { page, visit } = dashboard;
    await visit('/team', 'Team');
    await page.getByRole('tab', { name: 'Roles' }).click();
    await button('New role').click();
    await dialog('New role').getByLabel('Name').fill(hostile);
    await page.getByLabel('Read logs').check();
    await assertAccessible(page);
    await button('Save').click();
    const row = page.getByRole('row', { name: /Söhne/ });
    await row.getByText('Read logs').waitFor();
    await row.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Deploy apps and roll back').check();
    await button('Save').click();
    await row.getByText('Deploy apps and roll back, Read logs').or(row.getByText('Read logs, Deploy apps and roll back')).waitFor(); // prettier-ignore
    await row.getByRole('button', { name: 'Delete' }).click();
    await button('Delete the role').click();
    await row.waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByText('Turn it on for your own account first.').waitFor();
    assert.equal(await page.getByLabel('Everybody in the team needs it').isDisabled(), true);
    await assertAccessible(page);
  });

  it('make a token, show it once, and revoke it', async () => {
    const { page, visit, gangway } = dashboard;
    await visit('/tokens', 'Tokens');
    await button('New token').click();
    await page.getByLabel('Name').fill('CI');
    await page.getByLabel('Deploy apps and roll back').check();
    await button('Create token').click();
    const secret = await dialog('Your new token').locator('code').innerText();
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ query: '{ me { email } }' });
    const ask = () => fetch(`${gangway.url}/api/graphql`, { method: 'POST', headers, body });
    assert.equal((await ask()).status, 200);
    await button('I have kept it').click();
    await page.getByRole('row', { name: /CI/ }).getByText('Deploy apps and roll back').waitFor();
    await assertAccessible(page);
    await button('Revoke').click();
    await dialog('Revoke CI?').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No tokens yet').waitFor();
    assert.equal((await ask()).status, 401);
  });

  it('connect AI clients: who may, by which address, and what a token reaches', async () => {
    const { page, visit, gangway, requests } = dashboard;
    const token = await gangway.client.token({ name: 'MCP', capabilities: ['view_logs'] });
    requests();
    await visit('/mcp', 'Connect an AI client');
    await page.getByText(/Roles that have it: .*Owner/).waitFor();
    assert.deepEqual(requests().sort(), ['McpPage', 'Session']);
    await assertAccessible(page);
    const address = page.getByLabel('MCP over HTTP');
    assert.equal(await address.inputValue(), `${gangway.url}/api/mcp`);
    const status = page.getByRole('region', { name: 'Test' }).getByRole('status');
    const test = async (secret: string, told: RegExp): Promise<void> => {
      await page.getByLabel('API token', { exact: true }).fill(secret);
      await button('Test the connection').click();
      await status.getByText(told).first().waitFor();
    };
    await test(token, /^Connected: \d+ tools, 1 team\.$/);
    await page.getByText('Offer fewer tools').click();
    await page.getByLabel('Only those that change nothing').check();
    await page.getByLabel('apps', { exact: true }).check();
    assert.equal(await address.inputValue(), `${gangway.url}/api/mcp?tools=apps&readonly=1`);
    await test(token, /^Tools: list_apps, (?!.*create_app).*$/);
    await test('gwy_nonsense', /^Status 401\. The token is unknown/);
    await page.getByLabel('Which one').selectOption('Codex');
    await page.getByLabel('How it signs in').selectOption('API token');
    await page.getByText('bearer_token_env_var = "GANGWAY_TOKEN"').waitFor();
    await assertAccessible(page);
    await page.getByRole('switch', { name: 'AI agents may act in Home' }).uncheck();
    await test(token, /^Status 403\. .*switched off/);
    await page.getByRole('switch', { name: 'AI agents may act in Home' }).check();
    await test(token, /^Connected/);
  });

  it('tell what happened, and bring back what was deleted', async () => {
    const { page, visit, gangway } = dashboard;
    const { createApp } = await gangway.client.must<{ createApp: { id: string } }>(
      'mutation($name: String!) { createApp(input: {name: $name, source: UPLOAD}) { id } }',
      { name: hostile },
    );
    await gangway.client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: createApp.id });
    await visit('/activity', 'Activity');
    await page.getByText('Delete app').first().waitFor();
    await page.getByLabel('Filter what is loaded').fill('revoke token');
    await page.getByText('Delete app').first().waitFor({ state: 'detached' });
    await page.getByText('Revoke token').first().waitFor();
    await assertAccessible(page);
    await visit('/trash', 'Trash');
    await page.getByRole('cell', { name: hostile }).waitFor();
    await assertAccessible(page);
    await button('Restore').click();
    await page.getByText('The trash is empty').waitFor();
    const { app } = await gangway.client.must<{ app: { name: string } | null }>(
      'query($id: ID!) { app(id: $id) { name } }',
      { id: createApp.id },
    );
    assert.equal(app?.name, hostile);
  });

  it('turn two-factor on and off, and change the password', async () => {
    const { page, visit } = dashboard;
    await visit('/account', 'Account');
    await button('Turn on').click();
    await dialog('Turn two-factor on').getByLabel('Your password').fill(owner.password);
    await button('Continue').click();
    await page.getByRole('img', { name: /QR code/ }).waitFor();
    await assertAccessible(page);
    const key = await page.locator('.account-key code').innerText();
    const app = new AuthenticatorApp(`otpauth://totp/Gangway:me?secret=${key}&issuer=Gangway`);
    await page.getByLabel('Code of the app').fill(app.wrong());
    await dialog('Turn two-factor on').getByRole('button', { name: 'Turn on' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Code of the app').fill(await app.fresh());
    await dialog('Turn two-factor on').getByRole('button', { name: 'Turn on' }).click();
    await button('Turn off').waitFor();
    const change = page.locator('form').filter({ hasText: 'Current password' });
    await change.getByLabel('Current password').fill('not the password');
    await change.getByLabel('New password').fill('another long password');
    await button('Change password').click();
    await page.getByRole('alert').waitFor();
    assert.equal(await change.getByLabel('New password').inputValue(), 'another long password');
    await assertAccessible(page);
  });

  it('fit a phone', async () => {
    const { page, visit } = dashboard;
    await page.setViewportSize({ width: 360, height: 740 });
    const paths = ['/team', '/tokens', '/activity', '/trash', '/account', '/mcp', '/git'];
    for (const path of paths) {
      await visit(path);
      await until(`${path} is not wider than the screen`, 10_000, async () => {
        return (await page.evaluate('document.documentElement.scrollWidth')) === 360;
      });
    }
  });

  it('complain of nothing', () => assert.deepEqual(dashboard.complaints, []));
});
