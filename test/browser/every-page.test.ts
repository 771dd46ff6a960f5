/** What holds for every page, walked through by their routes, in a team that has something of everything. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { before, describe, it, type TestContext } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { cleanups } from '../support/cleanups.ts';
import {
  accessFaults,
  type Dashboard,
  openDashboard,
  openTab,
  signInWith,
  type Tab,
} from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { walkByKeyboard } from '../support/keyboard-walk.ts';
import { outsidePages } from '../support/outside-paths.ts';
import { needs } from '../support/programs.ts';
import { wavesOf } from '../support/request-waves.ts';
import { dashboardRoutes, shownPages } from '../support/shown-paths.ts';
import { furnish, type Furnished } from '../support/shown-world.ts';

const wavesMax = 2;
const requestsMax = 5;
// Links that are no good, what is not the guest's, a console that is gone, and lines that a busy server has asked for again.
const expected =
  /^Failed to load resource: the server responded with a status of (400|403|404|503)/;
const desk = { width: 1440, height: 900 };
const phone = { width: 360, height: 740 };
/** At once, which keeps two cores at work. */
const tabs = 2;
/** Of the walk over all pages, which is long for one test. */
const parts = [1, 2, 3];

/** Renderers whose pages `outsidePages` lacks, and who looks at those. */
const elsewhere: Readonly<Record<string, string>> = {
  setup: 'setup-and-explorer.test.ts',
  'graphql-explorer': 'setup-and-explorer.test.ts',
  dashboard: 'the walk over its routes',
};

describe('every page', { skip: needs('chromium', 'git') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  let world: Furnished;
  before(async () => {
    dashboard = await openDashboard();
    later(() => dashboard.end());
    world = await furnish(dashboard.gangway);
  });

  async function windowOf(who: { cookie: string } | null): Promise<BrowserContext> {
    const { browser, gangway } = dashboard;
    const context = await browser.newContext({
      ...{ baseURL: gangway.url, viewport: desk, reducedMotion: 'reduce' },
    });
    later(() => context.close());
    if (who !== null) await signInWith(context, who, gangway.url);
    return context;
  }

  /** A test for each of them, so that what is wrong with one hides no other. */
  async function eachOf<Shown extends { name: string }>(
    t: TestContext,
    context: BrowserContext,
    pages: readonly Shown[],
    look: (tab: Tab, shown: Shown) => Promise<Record<string, unknown[]>>,
  ): Promise<void> {
    assert.ok(pages.length > 0);
    const free = await Promise.all(Array.from({ length: tabs }, () => openTab(context, expected)));
    const one = async (shown: Shown): Promise<void> => {
      const tab = free.pop();
      assert.ok(tab);
      try {
        const found = { ...(await look(tab, shown)), complaints: tab.complaints.splice(0) };
        const wrong = Object.entries(found).filter(([, faults]) => faults.length > 0);
        assert.deepEqual(Object.fromEntries(wrong), {});
      } finally {
        free.push(tab);
      }
    };
    await Promise.all(pages.map((shown) => t.test(shown.name, () => one(shown))));
  }

  for (const part of parts) {
    it(
      `asks in two waves at most, is accessible in both themes, fits 360 pixels and needs no mouse, part ${String(part)}`,
      { concurrency: tabs },
      async (t) => {
        const broken = (await shownPages(world.failing)).filter(({ name }) => /^app(-deployments?)?$/.test(name)); // prettier-ignore
        const all = [
          ...(await shownPages(world.full)),
          ...broken.map((page) => ({ ...page, name: `broken ${page.name}` })),
        ];
        const some = all.filter((_page, i) => i % parts.length === part - 1);
        const context = await windowOf(dashboard.gangway.client);
        await eachOf(t, context, some, async ({ page, whole }, { path, name }) => {
          await page.setViewportSize(desk);
          await page.emulateMedia({ colorScheme: 'light' });
          const waves = await whole(() =>
            wavesOf(page, () => page.goto(path, { waitUntil: 'commit' })),
          );
          assert.ok(waves.length > 0, `${path} asked for nothing`);
          await shownWhole(page);
          const isFew = waves.length <= wavesMax && waves.flat().length <= requestsMax;
          return {
            waves: isFew ? [] : waves,
            // A console takes the key for itself.
            ...(!name.endsWith('-console') && (await keyFaults(page))),
            ...(await looksOf(page)),
          };
        });
      },
    );
  }

  it(
    'tells who has few rights what is not his, and breaks nowhere',
    { concurrency: tabs },
    async (t) => {
      const context = await windowOf(world.guest);
      await eachOf(t, context, await shownPages(world.full), async (tab, { path }) => {
        await tab.visit(path);
        await shownWhole(tab.page);
        return { refusals: await refusals(tab.page) };
      });
    },
  );

  for (const isSignedIn of [false, true]) {
    const who = isSignedIn ? 'who is signed in' : 'everybody';
    it(`is accessible without script, for ${who}`, { concurrency: tabs }, async (t) => {
      const { gangway } = dashboard;
      const context = await windowOf(isSignedIn ? gangway.client : null);
      const pages = outsidePages(gangway).filter((page) => page.isSignedIn === isSignedIn);
      await eachOf(t, context, pages, async (tab, { path }) => {
        await tab.page.setViewportSize(desk);
        await tab.page.emulateMedia({ colorScheme: 'light' });
        await tab.visit(await path());
        return await looksOf(tab.page);
      });
    });
  }

  it('is walked over: each route of the dashboard, and each page that the service renders itself', async () => {
    const shown = await shownPages(world.full);
    const missed = (await dashboardRoutes()).filter((route) => !shown.some((page) => page.route === route)); // prettier-ignore
    assert.deepEqual(missed, []);
    const place = new URL('../../src/gateway/transports/', import.meta.url);
    const renderers = readdirSync(place).filter((name) =>
      /\bsendPage\b|pages\/page\.ts/.test(readFileSync(new URL(name, place), 'utf8')),
    );
    const known = [...outsidePages(dashboard.gangway).map(({ by }) => by), ...Object.keys(elsewhere)]; // prettier-ignore
    assert.deepEqual(renderers.sort(), [...new Set(known)].map((name) => `${name}.ts`).sort());
  });

  it('has tabs, menus, dialogs and logs that the keys move through, and gives the focus back', async () => {
    const { page, visit } = dashboard;
    const { appId } = world.full;
    const focused = page.locator(':focus');
    await visit('/backups');
    await page.getByRole('tab', { name: 'Runs' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: 'Schedules', selected: true }).waitFor();
    await page.getByRole('row', { name: /Orders/ }).waitFor();
    await visit(`/apps/${appId}`);
    const more = page.getByRole('button', { name: 'Start and stop' });
    await more.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem').first().waitFor();
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused.getAttribute('role'), 'menuitem');
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    assert.equal(await focused.getAttribute('aria-label'), 'Start and stop');
    await visit('/team');
    const invite = page.getByRole('button', { name: 'Invite' });
    await invite.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    const isInside = `document.activeElement.closest('[role=dialog]') !== null`;
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(isInside), true);
    }
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await focused.innerText()).trim(), 'Invite');
    await visit(`/apps/${appId}/log`);
    await page.locator('.log-row[data-offset]').last().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.locator('.log-scroll').focus();
    await page.keyboard.press('Home');
    await page.locator('.log-row[data-offset="1"]').waitFor();
    await page.getByRole('button', { name: 'To the newest line' }).waitFor();
    await page.keyboard.press('End');
    await page.getByRole('button', { name: 'To the newest line' }).waitFor({ state: 'detached' });
    assert.deepEqual(dashboard.complaints, []);
  });
});

/** Nothing of it is being loaded any more. */
async function shownWhole(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.skeleton, .splash').first().waitFor({ state: 'detached' });
}

/** What the API refused, as the page shows it. */
async function refusals(page: Page): Promise<string[]> {
  return await page.locator('main .error-note').allInnerTexts();
}

async function keyFaults(page: Page): Promise<Record<string, unknown[]>> {
  const { missed, ringless, mouseOnly } = await walkByKeyboard(page);
  return { missed, ringless, mouseOnly };
}

/** All that axe-core looks at where it is light, on a desk; what the other theme and a phone change, without a new load. */
async function looksOf(page: Page): Promise<Record<string, unknown[]>> {
  const light = await accessFaults(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize(phone);
  const wider: string[] = [];
  const fits = async () =>
    (await page.evaluate('document.documentElement.scrollWidth')) === phone.width;
  await until('it fits', 30_000, fits).catch(() => wider.push('than 360 pixels'));
  return { light, wider, dark: await accessFaults(page, ['color-contrast']) };
}
