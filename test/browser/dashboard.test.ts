/** The frame of the dashboard and its overview, in a real browser against a real service. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import {
  assertAccessible,
  type Dashboard,
  openDashboard,
  signInWith,
} from '../support/dashboard.ts';
import { owner } from '../support/gangway-client.ts';
import { until } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';

// What the browser itself says of the server that is away, and of the session that has ended.
const refused = /^Failed to load resource|^WebSocket connection to/;

describe('the dashboard', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  before(async () => {
    dashboard = await openDashboard({ expected: refused });
    later(() => dashboard.end());
  });

  it('leads from an empty team to the first app', async () => {
    const { page, visit } = dashboard;
    await visit('/', 'Overview');
    await page.getByText('Deploy your first app').waitFor();
    assert.equal(await page.title(), 'Overview · Gangway');
    assert.equal(
      await page.getByRole('link', { name: 'New app' }).getAttribute('href'),
      '/apps/new',
    );
    await assertAccessible(page);
  });

  it('lists apps and databases by folder, with all it needs in requests side by side', async () => {
    const { gangway, page, visit, requests } = dashboard;
    const { createFolder } = await gangway.client.must<{ createFolder: { id: string } }>(
      'mutation { createFolder(name: "Website") { id } }',
    );
    const create = 'mutation($name: String!, $in: ID) { createApp(input: {name: $name, source: UPLOAD, folderId: $in}) { id } }'; // prettier-ignore
    await gangway.client.must(create, { name: 'Loose', in: null });
    for (const name of ['Shop 10', 'Shop 9']) {
      await gangway.client.must(create, { name, in: createFolder.id });
    }
    // The open page asks again for what changes; all of that is to be over.
    const last = page.getByRole('link', { name: 'Shop 9' });
    await last.waitFor();
    requests();
    await visit('/', 'Overview');
    await last.waitFor();
    assert.deepEqual(await page.locator('.things li').allInnerTexts().then(names), ['Loose', 'Website', 'Shop 9', 'Shop 10']); // prettier-ignore
    assert.deepEqual(requests().sort(), ['OverviewApps', 'OverviewRest', 'Session']);
    await assertAccessible(page);
  });

  it('shows a folder in which nothing is, and deletes it', async () => {
    const { gangway, page } = dashboard;
    await gangway.client.must('mutation { createFolder(name: "<i>Attic</i>") { id } }');
    const remove = page.getByRole('button', { name: 'Delete the folder <i>Attic</i>' });
    await remove.click();
    assert.equal(await page.getByRole('button', { name: 'Delete the folder Website' }).count(), 0);
    await page.getByRole('button', { name: 'Delete the folder', exact: true }).click();
    await remove.waitFor({ state: 'detached' });
    await page.getByText('<i>Attic</i> is deleted.').waitFor();
  });

  it('shows what others do without a request of its own, also behind a restart of the server', async () => {
    const { gangway, page, requests } = dashboard;
    const { apps } = await gangway.client.must<{ apps: { nodes: { id: string }[] } }>(
      '{ apps(search: "Loose") { nodes { id } } }',
    );
    const rename = 'mutation($id: ID!, $name: String!) { updateApp(id: $id, name: $name) { id } }';
    const id = apps.nodes[0]?.id;
    // The first change may come before the page follows; one of the next ones is told.
    let count = 0;
    await until('a new name is shown', 20_000, async () => {
      count += 1;
      await gangway.client.must(rename, { id, name: `Told ${String(count)}` });
      return (await page.getByRole('link', { name: /^Told/ }).count()) === 1;
    });
    // What was deleted before may be asked for once more.
    await until('a new name is shown without a request', 20_000, async () => {
      requests();
      const name = `Renamed ${String(++count)}`;
      await gangway.client.must(rename, { id, name });
      await page.getByRole('link', { name, exact: true }).waitFor();
      return requests().length === 0;
    });
    await gangway.kill9();
    await page.getByText('Offline: what you see may be old').waitFor();
    await gangway.start();
    await gangway.client.must(rename, { id, name: 'Loose' });
    await page.getByText('Offline: what you see may be old').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Loose', exact: true }).waitFor();
  });

  it('keeps the page when the session ends in the middle of a form, and goes on once one is signed in again', async () => {
    const { gangway, page, context } = dashboard;
    await page.getByRole('button', { name: 'New folder' }).click();
    const name = page.getByLabel('Name');
    await name.fill('Kept');
    const other = await gangway.signIn();
    await gangway.client.must('mutation { logout }');
    await page.getByRole('dialog', { name: 'You are signed out' }).waitFor();
    await assertAccessible(page);
    gangway.client.cookie = other.cookie;
    await signInWith(context, other, gangway.url);
    await page.getByRole('button', { name: 'I have signed in' }).click();
    assert.equal(await name.inputValue(), 'Kept');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete the folder Kept' }).waitFor();
    const create = 'mutation { createApp(input: {name: "Loose too", source: UPLOAD}) { id } }';
    await gangway.client.must(create);
    await page.getByRole('link', { name: 'Loose too' }).first().waitFor();
  });

  it('makes a folder', async () => {
    const { gangway, page } = dashboard;
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByLabel('Name').fill('Inner');
    await page.getByLabel('In', { exact: true }).selectOption({ label: 'Website' });
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { folders } = await gangway.client.must<{
      folders: { name: string; parentId: string | null }[];
    }>('{ folders { name parentId } }');
    assert.ok(folders.some(({ name, parentId }) => name === 'Inner' && parentId !== null));
  });

  it('searches over names and folders', async () => {
    const { page } = dashboard;
    const search = page.getByRole('searchbox', { name: 'Search apps and databases' });
    await search.fill('webs 10');
    await page.getByRole('link', { name: 'Shop 9' }).waitFor({ state: 'detached' });
    assert.deepEqual(await page.locator('.things li').allInnerTexts().then(names), ['Website', 'Shop 10']); // prettier-ignore
    await search.fill('nothing at all');
    await page.getByText('Nothing matches').waitFor();
    await search.fill('');
    await page.getByRole('link', { name: 'Loose', exact: true }).waitFor();
  });

  it('leads everywhere by Ctrl-K, and puts the focus onto the heading of the page', async () => {
    const { page } = dashboard;
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Search' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.type('shop 9');
    await page.getByRole('option', { name: 'Shop 9', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/apps\/app_/);
    await page.locator('h1:focus').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('can be reached without a mouse: the skip link, and menus that give the focus back', async () => {
    const { page, visit } = dashboard;
    await visit('/', 'Overview');
    await page.keyboard.press('Tab');
    assert.equal(await page.locator(':focus').innerText(), 'Skip to the page');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator(':focus').getAttribute('id'), 'main');
    const menu = page.getByRole('button', { name: /account$/ });
    await menu.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    assert.match(await page.locator(':focus').innerText(), /account/);
  });

  it('keeps the chosen theme, from before the first paint on', async () => {
    const { page, visit } = dashboard;
    const paper = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor'); // prettier-ignore
    const light = await paper();
    await page.getByRole('button', { name: /account$/ }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    const dark = await paper();
    assert.notEqual(dark, light);
    await visit('/', 'Overview');
    assert.equal(await paper(), dark);
    await assertAccessible(page);
    await page.getByRole('button', { name: /account$/ }).click();
    await page.getByRole('menuitem', { name: 'As the system' }).click();
    assert.equal(await paper(), light);
  });

  it('has its navigation in a drawer on phones', async () => {
    const { page } = dashboard;
    await page.setViewportSize({ width: 360, height: 740 });
    await until('nothing is wider than the screen', 10_000, async () => {
      return (await page.evaluate('document.documentElement.scrollWidth')) === 360;
    });
    await page.getByRole('button', { name: 'Navigation' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Overview' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('says that a page is not there', async () => {
    await dashboard.visit('/nowhere', 'Not found');
  });

  it('asks who comes to sign in, and leads back to where one wanted to go', async () => {
    const { browser, gangway } = dashboard;
    const context = await browser.newContext({ baseURL: gangway.url });
    const page = await context.newPage();
    await page.goto('/?a=1');
    assert.equal(new URL(page.url()).pathname, '/login');
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await context.close();
  });

  it('breaks no rule of its policy on the way', () => {
    assert.deepEqual(dashboard.complaints, []);
  });
});

/** The first line of each. */
function names(texts: readonly string[]): string[] {
  return texts.map((text) => text.trim().split('\n')[0]?.trim() ?? '');
}
