import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, openBrowser } from '../support/browser.ts';
import { cleanups } from '../support/cleanups.ts';
import { owner, packed } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { freePort } from '../support/ports.ts';
import { needs } from '../support/programs.ts';

const pageTail = fileURLToPath(new URL('../fixtures/browser/page-tail.js', import.meta.url));
const refused = /^Failed to load resource: the server responded with a status of 40[01]/;

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
}

/** The server's word, not the browser's: what its own checks would stop is sent, too. */
async function sendUnchecked(page: Page): Promise<void> {
  await page.evaluate('document.forms[0].noValidate = true');
  await page.getByRole('button').click();
}

/** A browser says nothing of sites where the address is neither https nor of this machine. */
const host = 'panel.test';
const atEnd = cleanups();
let browser: Browser;
/** Empty at first. */
let gangway: Gangway;
before(async () => {
  if (needs('chromium') !== false) return;
  browser = await openBrowser([host]);
  atEnd(() => browser.close());
  gangway = await Gangway.create();
  atEnd(() => gangway.end());
  await gangway.start();
});

const account = { 'Your name': 'Me', Email: owner.email, Password: owner.password, Team: 'Home' };

describe('the pages of an instance, in a browser', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let context: BrowserContext;
  let page: Page;
  let complaints: string[];
  before(async () => {
    context = await browser.newContext();
    later(() => context.close());
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    complaints = complaintsOf(page, refused);
  });

  it('lead from the empty instance to setup, and keep what was typed when it is refused', async () => {
    await page.goto(gangway.url);
    assert.equal(page.url(), `${gangway.url}/setup`);
    await fill(page, { ...account, Password: 'short' });
    await page.getByRole('button', { name: 'Create the account' }).click();
    assert.equal(page.url(), `${gangway.url}/setup`, 'the browser itself asks for more');
    assert.equal(await page.getByRole('alert').count(), 0);
    await sendUnchecked(page);
    assert.match(await page.getByRole('alert').innerText(), /10 to 128/);
    assert.equal(await page.getByLabel('Your name').inputValue(), 'Me');
    assert.equal(await page.getByLabel('Email').inputValue(), owner.email);
    assert.equal(await page.getByLabel('Team').inputValue(), 'Home');
    assert.equal(await page.getByLabel('Password').inputValue(), '');
    const focused = page.locator('input:focus');
    assert.equal(await focused.getAttribute('name'), 'password');
    // The policy let the style in.
    const style = "getComputedStyle(document.querySelector('[role=alert]')).borderLeftWidth";
    assert.equal(await page.evaluate(style), '1px');
    assert.deepEqual(complaints, []);
  });

  it('lead from setup to the dashboard, and from there to the explorer, signed in', async () => {
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.waitForURL(`${gangway.url}/`);
    await page.getByText('Deploy your first app').waitFor();
    await page.getByRole('link', { name: 'API explorer' }).click();
    await page.waitForURL(`${gangway.url}/api/graphql`);
    await page.getByRole('link', { name: 'Account' }).waitFor();
    await page.locator('.graphiql-execute-button').click();
    await page.locator('.result-window').getByText(owner.email).waitFor();
    const [cookie] = await context.cookies();
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.sameSite],
      ['service.session_token', true, 'Lax'],
    );
    assert.deepEqual(complaints, []);
  });

  it('hold the explorer, its dialogs and menus to a strict policy', async () => {
    const editor = page.locator('.graphiql-query-editor .CodeMirror');
    await page.getByLabel('Show Documentation Explorer').click();
    await page.locator('.graphiql-doc-explorer').getByText('Query', { exact: true }).click();
    await page.locator('.graphiql-doc-explorer').getByText('myTeams').waitFor();
    await page.getByLabel('Show History').click();
    await page.locator('.graphiql-history').getByText('Start').waitFor();
    for (const dialog of ['Open short keys dialog', 'Open settings dialog']) {
      await page.getByLabel(dialog).click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await editor.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('query A { needsSe');
    await page.locator('.CodeMirror-hints').getByText('needsSetup').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type(' } query B { nope }');
    await page.locator('.CodeMirror-lint-mark-error').first().waitFor();
    await page.locator('.graphiql-execute-button').click();
    await page.getByRole('menuitem', { name: 'A' }).click();
    await page.locator('.result-window').getByText('Cannot query field').waitFor();
    assert.deepEqual(complaints, []);
  });

  it('sign out and in again, and lead on', async () => {
    await page.goto(`${gangway.url}/api/graphql`);
    await page.getByRole('link', { name: 'Account' }).click();
    await page.getByText(owner.email).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${gangway.url}/login`);
    assert.deepEqual(await context.cookies(), []);
    await page.goto(`${gangway.url}/api/graphql`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await fill(page, { Email: owner.email, Password: 'not the password' });
    await page.getByRole('button', { name: 'Sign in' }).click();
    assert.match(await page.getByRole('alert').innerText(), /wrong/);
    assert.equal(await page.locator('input:focus').getAttribute('name'), 'password');
    await page.keyboard.type(owner.password);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${gangway.url}/api/graphql`);
    await page.getByRole('link', { name: 'Account' }).waitFor();
    assert.deepEqual(complaints, []);
  });
});

/** What `page-tail.js` keeps of a log. */
interface Tail {
  /** Kinds of events, once for each row of them. */
  kinds: string[];
  text: string;
  /** Whether the browser has given up. */
  failed: boolean;
}

async function tailOf(page: Page): Promise<Tail> {
  return await page.evaluate<Tail>('tail');
}

/** What has come, once `lines` more whole lines have. */
async function followed(page: Page, lines: number): Promise<Tail> {
  let tail = await tailOf(page);
  const least = tail.text.split('\n').length + lines;
  await until('more lines', 30_000, async () => {
    tail = await tailOf(page);
    return tail.text.split('\n').length > least;
  });
  return tail;
}

/** Each line once and in order, from the first on. */
function assertUnbroken(text: string): void {
  const numbers = text
    .split('\n')
    .slice(0, -1)
    .map((line) => Number(/^line (\d+) of many/.exec(line)?.[1]));
  const first = numbers[0] ?? NaN;
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => first + i),
  );
}

describe('an app and its log, in a browser', { skip: needs('chromium') }, () => {
  let context: BrowserContext;
  let app: { id: string; url: string };
  before(async () => {
    gangway.client = await gangway.signIn();
    const env = [{ key: 'LINES_PER_SECOND', value: '200', isSecret: false }];
    app = await gangway.client.runningApp('Chatty', packed('chatty'), { env });
    context = await browser.newContext();
    await context.addInitScript({ path: pageTail });
    const [name = '', value = ''] = gangway.client.cookie.split('=');
    await context.addCookies([{ name, value, url: gangway.url }]);
  });

  async function open(t: TestContext, url: string): Promise<Page> {
    const page = await context.newPage();
    t.after(() => page.close());
    page.setDefaultTimeout(30_000);
    await page.goto(url);
    return page;
  }

  it('opens at its own address', async (t) => {
    const page = await open(t, app.url);
    assert.ok(Number(await page.locator('body').innerText()) > 0);
  });

  it('follows the log live, and loses nothing when Gangway dies or is restarted', async (t) => {
    // Any page of the panel, and a light one.
    const page = await open(t, `${gangway.url}/connect`);
    await page.evaluate(`follow('/api/apps/${app.id}/logs?tail=5')`);
    assert.deepEqual((await followed(page, 100)).kinds, ['session', 'data']);
    await gangway.restart();
    const revived = await followed(page, 100);
    assert.deepEqual(revived.kinds, ['session', 'data', 'session', 'data']);
    assertUnbroken(revived.text);
    await gangway.stop();
    await gangway.start();
    const renewed = await followed(page, 100);
    assert.deepEqual(renewed.kinds.slice(4), ['exit', 'session', 'data']);
    assertUnbroken(renewed.text);
    assert.equal(renewed.failed, false);
  });

  it('shows in the explorer what a subscription tells, as it comes', async (t) => {
    const page = await open(t, `${gangway.url}/api/graphql`);
    const complaints = complaintsOf(page);
    await page.getByLabel('Add tab').click();
    await page.locator('.graphiql-query-editor .CodeMirror').click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(`subscription Watch { appStatus(id: "${app.id}") { status } }`);
    // The explorer reads what is typed when the typing pauses.
    await page.getByRole('tab', { name: 'Watch' }).waitFor();
    await page.keyboard.press('Control+Enter');
    const result = page.locator('.result-window');
    await result.getByText('"active"').waitFor();
    await gangway.client.must('mutation($id: ID!) { stopApp(id: $id) { id } }', { id: app.id });
    await result.getByText('"stopped"').waitFor();
    await gangway.client.must('mutation($id: ID!) { startApp(id: $id) { id } }', { id: app.id });
    await result.getByText('"active"').waitFor();
    assert.deepEqual(complaints, []);
  });

  it('tells a page of another origin nothing, and takes no form of it', async (t) => {
    const page = await open(t, app.url);
    await page.evaluate(`follow('${gangway.url}/api/apps/${app.id}/logs?tail=5')`);
    await until('it is refused', 30_000, async () => (await tailOf(page)).failed);
    assert.deepEqual(await tailOf(page), { kinds: [], text: '', failed: true });
    for (const path of ['/logout', '/login', '/setup']) {
      const foreign = await open(t, app.url);
      const address = `${gangway.url}${path}`;
      const answering = foreign.waitForResponse(address);
      await foreign.setContent(`<form method="post" action="${address}"><button></button></form>`);
      await foreign.getByRole('button').click();
      assert.equal((await answering).status(), 403);
    }
    assert.deepEqual(await gangway.client.must('{ me { email } }'), { me: { email: owner.email } });
  });
});

describe('the pages without scripts, over plain http', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let gangway: Gangway;
  before(async () => {
    const port = String(await freePort());
    const env = { GANGWAY_PORT: port, GANGWAY_PUBLIC_URL: `http://${host}:${port}` };
    gangway = await Gangway.create({ env });
    later(() => gangway.end());
    await gangway.start();
  });

  it('set up an instance, sign out and in', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const complaints = complaintsOf(page);
    const url = `http://${host}:${String(gangway.port)}`;
    const posted = page.waitForRequest((request) => request.method() === 'POST');
    await page.goto(url);
    await fill(page, account);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.waitForURL(`${url}/`);
    assert.equal(await (await posted).headerValue('sec-fetch-site'), null);
    await page.goto(`${url}/login?next=/login`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${url}/login`);
    await page.goto(`${url}/login?next=/login`);
    await fill(page, { Email: owner.email, Password: owner.password });
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Continue' }).waitFor();
    assert.deepEqual(complaints, []);
  });
});
