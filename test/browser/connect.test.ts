/** The page that connects MCP clients, in a real browser: what a person reads, pastes and tries. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, openBrowser } from '../support/browser.ts';
import { cleanups } from '../support/cleanups.ts';
import { owner } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

const timeout = 60_000;
const refused = /^Failed to load resource: the server responded with a status of 40[13]/;

describe('the page that connects MCP clients, in a browser', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let gangway: Gangway;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let complaints: string[];
  let token = '';
  before(async () => {
    browser = await openBrowser();
    later(() => browser.close());
    gangway = await Gangway.open();
    later(() => gangway.end());
    token = await gangway.client.token({ capabilities: ['view_logs'] });
    await gangway.client.must('mutation { setMcpSettings(enabled: false) { enabled } }');
    context = await browser.newContext();
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: gangway.url });
    page = await context.newPage();
    page.setDefaultTimeout(timeout);
    complaints = complaintsOf(page, refused);
  });

  async function test(secret: string): Promise<string> {
    await page.locator('#test input').fill(secret);
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.locator('output.good, output.bad').waitFor();
    return (await page.locator('output p').allInnerTexts()).join('\n');
  }

  it('is found after signing in, which it asks for first', async () => {
    await page.goto(`${gangway.url}/connect`);
    assert.equal(new URL(page.url()).pathname, '/login');
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${gangway.url}/connect`);
    await page.goto(`${gangway.url}/login`);
    await page.getByRole('link', { name: 'Connect an AI client' }).click();
    await page.waitForURL(`${gangway.url}/connect`);
  });

  it('tells in plain words that MCP is off, and switches it on', async () => {
    assert.match(await page.getByRole('status').first().innerText(), /MCP is off in Home/);
    assert.match(await test(token), /^Status 403\..*switched off/);
    await page.getByRole('button', { name: 'Switch MCP on' }).click();
    await page.getByText('MCP is on in Home').waitFor();
    const { activity } = await gangway.client.must<{
      activity: { nodes: { action: string; actor: string; details: { input?: object } }[] };
    }>('{ activity(first: 1) { nodes { action actor details } } }');
    const [entry] = activity.nodes;
    assert.equal(entry?.action, 'setMcpSettings');
    assert.equal(entry.actor, `person:Me ${owner.email}`);
    assert.deepEqual(entry.details.input, { enabled: true });
  });

  it('shows what a token reaches', async () => {
    const said = await test(` ${token}\n`);
    assert.match(said, /^Connected: \d+ tools, 1 team\.\nTeams: Home\.\nTools: .*list_teams/);
    assert.doesNotMatch(said, /deploy_app/);
  });

  it('tells in plain words that a token is no good', async () => {
    assert.match(
      await test('gwy_nonsense'),
      /^Status 401\. The token is unknown, expired or revoked/,
    );
  });

  it('keeps the token nowhere: not in the address, the storage or the page that is loaded next', async () => {
    await page.reload();
    assert.equal(await page.locator('#test input').inputValue(), '');
    assert.ok(!page.url().includes('gwy_'));
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])',
    );
    assert.equal(kept, '[{},{}]');
    assert.ok(!(await page.content()).includes(token));
  });

  it('shows one client in one way at a time, and copies it', async () => {
    const shown = page.locator('.client pre:visible');
    await page.getByText('Codex', { exact: true }).click();
    assert.match(
      (await shown.allInnerTexts()).join('\n'),
      /^\[mcp_servers\.gangway\]\nurl = "http:/,
    );
    await page.getByText('API token', { exact: true }).first().click();
    assert.match(
      (await shown.allInnerTexts()).join('\n'),
      /bearer_token_env_var = "GANGWAY_TOKEN"/,
    );
    await page.locator('.client .snippet:visible').getByRole('button', { name: 'Copy' }).click();
    await page.locator('.client .snippet:visible').getByText('Copied').waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    assert.equal(copied, await shown.innerText());
  });

  it('gives a line for curl that works as it is', { skip: needs('curl') }, async () => {
    await page.getByText('curl', { exact: true }).click();
    const line = await page.locator('.client pre:visible').innerText();
    const env = { PATH: process.env['PATH'] ?? '', GANGWAY_TOKEN: token };
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', line], { env });
    const { result } = JSON.parse(stdout) as { result: { tools: { name: string }[] } };
    assert.equal(result.tools[0]?.name, 'list_teams');
  });

  it('narrows the address, and tries it as it is', async () => {
    await page.getByText('Offer fewer tools').click();
    await page.getByLabel('Only those that change nothing').check();
    await page.getByLabel('apps', { exact: true }).check();
    await page.getByRole('button', { name: 'Show the address' }).click();
    await page.waitForURL(/readonly=1/);
    const address = await page.locator('pre').first().innerText();
    assert.equal(address, `${gangway.url}/api/mcp?tools=apps&readonly=1`);
    const said = await test(token);
    assert.match(said, /Tools: .*list_apps/);
    assert.doesNotMatch(said, /create_app|read_logs/);
  });

  it('leads to the explorer with the mutation that makes a token', async () => {
    await page.getByRole('link', { name: 'Make a token in the explorer' }).click();
    const editor = page.locator('.graphiql-query-editor .CodeMirror');
    await editor.getByText('createToken', { exact: true }).waitFor();
    await page.locator('.graphiql-execute-button').click();
    await page
      .locator('.result-window')
      .getByText(/"gwy_\w{40}"/)
      .waitFor();
    assert.deepEqual(complaints, []);
  });

  it('fits a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${gangway.url}/connect?tools=apps,logs&readonly=1`);
    await page.getByText('API token', { exact: true }).first().click();
    for (const client of await page.locator('.tabs').first().locator('label').all()) {
      await client.click();
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.equal(width, 390, await client.innerText());
    }
  });

  it('shows clients and the switch without scripts, and no test that could not work', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const [name = '', value = ''] = gangway.client.cookie.split('=');
    await plain.addCookies([{ name, value, url: gangway.url }]);
    const still = await plain.newPage();
    still.setDefaultTimeout(timeout);
    await still.goto(`${gangway.url}/connect`);
    await still.getByText('Gemini CLI', { exact: true }).click();
    assert.match(await still.locator('.client pre:visible').innerText(), /"httpUrl"/);
    assert.equal(await still.locator('#test').isVisible(), false);
    await still.getByText('Without JavaScript').waitFor();
    await still.getByRole('button', { name: 'Switch MCP off' }).click();
    await still.getByText('MCP is off in Home').waitFor();
    await still.getByRole('button', { name: 'Switch MCP on' }).click();
    await still.getByText('MCP is on in Home').waitFor();
    await plain.close();
  });
});
