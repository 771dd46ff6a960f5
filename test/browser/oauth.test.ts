/** Consent in a real browser: a client sends a person there, who takes two permissions away. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { complaintsOf, openBrowser } from '../support/browser.ts';
import { cleanups } from '../support/cleanups.ts';
import { Client, owner } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';
import * as oauth from '../support/oauth.ts';

const timeout = 60_000;

describe('the consent page', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let gangway: Gangway;
  let browser: Browser;
  /** Where the client waits for its answer. */
  let redirectUri: string;
  before(async () => {
    const client = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Connected</h1>');
    });
    later(() => client.close());
    await new Promise<void>((resolve) => client.listen(0, '127.0.0.1', resolve));
    const { port } = client.address() as AddressInfo;
    redirectUri = `http://127.0.0.1:${String(port)}/callback`;
    gangway = await Gangway.open();
    later(() => gangway.end());
    browser = await openBrowser();
    later(() => browser.close());
  });

  it('asks who signs in on the way, and gives only what is left ticked', async () => {
    const name = 'Helper <script>alert(1)</script>';
    const { body } = await oauth.register(gangway.url, { client_name: name });
    const { verifier, challenge } = oauth.pkce();
    const scope = 'offline_access view_logs deploy_apps delete_apps manage_env';
    const over = { redirect_uri: redirectUri, scope };
    const query = oauth.authorizationQuery(body.client_id, challenge, over);
    // Without script, as our pages are to work.
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    page.setDefaultTimeout(timeout);
    const complaints = complaintsOf(page, /favicon/);
    await page.goto(`${gangway.url}/api/auth/oauth2/authorize?${query}`);
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
    assert.match(await page.locator('main').innerText(), /Helper <script>alert\(1\)<\/script>/);
    assert.equal(await page.locator('input[name=capability]').count(), 4);
    await page.getByLabel('delete apps').uncheck();
    await page.getByLabel('manage env').uncheck();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    const back = new URL(page.url());
    assert.equal(back.searchParams.get('state'), 'a-state');
    const tokens = await oauth.tokensOf(
      oauth.post(gangway.url, 'token', {
        grant_type: 'authorization_code',
        client_id: body.client_id,
        redirect_uri: redirectUri,
        code: back.searchParams.get('code') ?? '',
        code_verifier: verifier,
      }),
    );
    assert.equal(tokens.scope, 'deploy_apps view_logs offline_access');
    const asClient = { authorization: `Bearer ${tokens.access_token}` };
    const reads = await new Client(gangway).graphql('{ myTeams { id } }', {}, asClient);
    assert.deepEqual(reads.errors, []);
    const create = 'mutation { createApp(input: { name: "x", source: UPLOAD }) { id } }';
    assert.equal(await new Client(gangway).fails(create, {}, asClient), 'FORBIDDEN');
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it('leads back with a refusal', async () => {
    const { body } = await oauth.register(gangway.url);
    const over = { redirect_uri: redirectUri };
    const query = oauth.authorizationQuery(body.client_id, oauth.pkce().challenge, over);
    const page = await browser.newPage();
    page.setDefaultTimeout(timeout);
    await page.goto(`${gangway.url}/api/auth/oauth2/authorize?${query}`);
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
    await page.close();
  });
});
