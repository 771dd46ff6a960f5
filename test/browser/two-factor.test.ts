import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { emailOf, join, roleNamed } from '../support/access-world.ts';
import { AuthenticatorApp, enrol } from '../support/authenticator-app.ts';
import { complaintsOf, openBrowser } from '../support/browser.ts';
import { cleanups } from '../support/cleanups.ts';
import { owner } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

const skip = needs('chromium');
const refused = /^Failed to load resource: the server responded with a status of 40[0134]/;

const later = cleanups();
let gangway: Gangway;
let browser: Browser;
/** Of the owner. */
let app: AuthenticatorApp;
let recoveryCodes: string[];
before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  later(() => browser.close());
  gangway = await Gangway.open();
  later(() => gangway.end());
  ({ app, recoveryCodes } = await enrol(gangway.client, owner.password));
});

describe('turning two-factor on, in a browser without script', { skip }, () => {
  let page: Page;
  let complaints: string[];
  const bob = { email: emailOf('bob'), password: 'correct horse battery' };
  before(async () => {
    const { client } = gangway;
    const { viewerTeam } = await client.must<{ viewerTeam: { id: string } }>(
      '{ viewerTeam { id } }',
    );
    const roleId = await roleNamed(client, viewerTeam.id, 'Member');
    await join(gangway, viewerTeam.id, roleId, 'bob');
    await client.must('mutation { updateTeam(requireTwoFactor: true) { id } }');
    const context = await browser.newContext({ javaScriptEnabled: false });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    complaints = complaintsOf(page, refused);
  });

  async function signIn(): Promise<void> {
    await page.getByLabel('Email').fill(bob.email);
    await page.getByLabel('Password').fill(bob.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  it('is what who signs in is told of while the team waits, and may be put off', async () => {
    await page.goto(`${gangway.url}/account/two-factor?next=/login%3Fdone`);
    assert.match(page.url(), /\/login\?next=/);
    await signIn();
    const told = await page.getByRole('alert').innerText();
    const [, day = ''] =
      /^Home requires two-factor\. From (\S+) \d\d:\d\d UTC on, you and your tokens/.exec(told) ??
      [];
    assert.equal(Math.round((Date.parse(day) - Date.now()) / 86_400_000) >= 6, true, told);
    await page.getByRole('link', { name: 'Not now' }).click();
    await page.waitForURL(`${gangway.url}/login?done`);
    assert.deepEqual(complaints, []);
  });

  it('takes the password, shows a QR code and recovery codes, and is on with the first code', async () => {
    await gangway.client.must('mutation { updateTeam(twoFactorGraceDays: 0) { id } }');
    await page.getByRole('link', { name: 'Two-factor' }).click();
    assert.match(
      await page.getByRole('alert').innerText(),
      /^Home requires two-factor: until it is/,
    );
    await page.getByLabel('Your password').fill('not the password');
    await page.getByRole('button', { name: 'Turn on two-factor' }).click();
    await page.getByText('The password is wrong.').waitFor();
    await page.getByLabel('Your password').fill(bob.password);
    await page.getByRole('button', { name: 'Turn on two-factor' }).click();
    const picture = page.getByRole('img', { name: 'QR code' });
    await picture.waitFor();
    const box = await picture.boundingBox();
    assert.ok(box && box.width > 100 && Math.abs(box.width - box.height) < 2, 'it is drawn');
    const link = page.getByRole('link', { name: 'Open an app on this device' });
    const uri = (await link.getAttribute('href')) ?? '';
    const app = new AuthenticatorApp(uri);
    assert.equal(app.label, bob.email);
    const key = (await page.getByText('Or type the key').innerText()).replace(/^.*: /, '');
    assert.equal(key.replaceAll(' ', ''), new URL(uri).searchParams.get('secret'));
    const codes = await page.getByRole('listitem').allInnerTexts();
    assert.equal(codes.length, 10);
    await page.getByLabel(/^Code/).fill(app.wrong());
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('The code is wrong.').waitFor();
    assert.deepEqual(await page.getByRole('listitem').allInnerTexts(), codes, 'shown again');
    assert.equal(await link.getAttribute('href'), uri);
    await page.getByLabel(/^Code/).fill(await app.fresh());
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Two-factor is on' }).waitFor();
    await page.getByRole('link', { name: 'Continue' }).click();
    await page.goto(`${gangway.url}/login`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn();
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill(codes[0] ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${gangway.url}/`);
    await page.goto(`${gangway.url}/account/two-factor`);
    await page.getByRole('heading', { name: 'Two-factor is on' }).waitFor();
    assert.deepEqual(complaints, []);
  });
});

describe('signing in with two-factor, in a browser without script', { skip }, () => {
  let context: BrowserContext;
  let page: Page;
  let complaints: string[];
  before(async () => {
    context = await browser.newContext({ javaScriptEnabled: false });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    complaints = complaintsOf(page, refused);
  });

  async function giveThePassword(password = owner.password): Promise<void> {
    await page.goto(`${gangway.url}/login?next=/login%3Fdone`);
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel(/^Code/).waitFor();
  }

  it('asks for the code on a page of its own, and leads on to where it was meant to', async () => {
    await giveThePassword();
    assert.deepEqual(
      (await context.cookies()).map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]),
      [['service.two_factor', true, 'Lax']],
    );
    assert.equal(await page.locator('input:focus').getAttribute('name'), 'code');
    await page.getByLabel(/^Code/).fill(app.wrong());
    await page.getByRole('button', { name: 'Sign in' }).click();
    assert.match(await page.getByRole('alert').innerText(), /wrong/);
    const code = await app.fresh();
    await page.getByLabel(/^Code/).fill(`${code.slice(0, 3)} ${code.slice(3)}`);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${gangway.url}/login?done`);
    await page.getByText(owner.email).waitFor();
    assert.deepEqual(
      (await context.cookies()).map(({ name }) => name),
      ['service.session_token'],
    );
    await page.getByRole('button', { name: 'Sign out' }).click();
    assert.deepEqual(complaints, []);
  });

  it('takes a recovery code, and starts again when asked to', async () => {
    await giveThePassword();
    await page.getByRole('link', { name: 'Start again' }).click();
    await page.getByLabel('Password').waitFor();
    await giveThePassword();
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill(recoveryCodes[0] ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${gangway.url}/login?done`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(`${gangway.url}/login/two-factor?next=//evil.example`);
    assert.equal(page.url(), `${gangway.url}/login?next=%2F`);
    assert.deepEqual(complaints, []);
  });

  it('sets a new password by the link of gangway reset-password, once', async () => {
    const { text } = await gangway.run(['reset-password', owner.email]);
    const link = /http:\S+\/reset\/\S+/.exec(text)?.[0] ?? '';
    await page.goto(link);
    await page.getByLabel('New password').fill('a brand new password');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('Your password is set.').waitFor();
    await page.goto(link);
    assert.match(await page.getByRole('alert').innerText(), /used/);
    await giveThePassword('a brand new password');
    assert.deepEqual(complaints, []);
  });
});
