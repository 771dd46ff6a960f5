/** What holds for every page of the dashboard, walked through by its routes, in a team that has something of everything. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { accessFaults, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { walkByKeyboard } from '../support/keyboard-walk.ts';
import { needs } from '../support/programs.ts';
import { wavesOf } from '../support/request-waves.ts';
import { type ShownPage, shownPages } from '../support/shown-paths.ts';
import { furnish } from '../support/shown-world.ts';

const wavesMax = 2;
const requestsMax = 5;
// Who comes back to a console asks for the one he had, which may be gone.
const goneConsole = /^Failed to load resource: the server responded with a status of 404/;
const desk = { width: 1440, height: 900 };

describe('every page of the dashboard', { skip: needs('chromium', 'git') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  let pages: ShownPage[];
  before(async () => {
    dashboard = await openDashboard({ expected: goneConsole });
    later(() => dashboard.end());
    const { full, failing } = await furnish(dashboard.gangway);
    const broken = (await shownPages(failing)).filter(({ name }) =>
      /^app(-deployments?)?$/.test(name),
    );
    pages = [...(await shownPages(full)), ...broken];
  });

  /** All that were wrong, each with what was. */
  async function eachPage(look: (page: ShownPage) => Promise<unknown[]>): Promise<void> {
    const wrong: [string, unknown][] = [];
    for (const page of pages) {
      for (const one of await look(page)) wrong.push([page.path, one]);
    }
    assert.deepEqual(wrong, []);
  }

  /** There, with all that it shows. */
  async function settle({ path }: ShownPage): Promise<void> {
    await dashboard.visit(path);
    await dashboard.page.locator('.skeleton, .splash').first().waitFor({ state: 'detached' });
  }

  it('asks the API for all it shows in two waves at most', async () => {
    await eachPage(async ({ path }) => {
      const waves = await wavesOf(dashboard.page, () =>
        dashboard.page.goto(path, { waitUntil: 'commit' }),
      );
      assert.ok(waves.length > 0, `${path} asked for nothing`);
      return waves.length <= wavesMax && waves.flat().length <= requestsMax
        ? []
        : [waves.map((wave) => wave.join()).join(' > ')];
    });
  });

  it('is accessible to axe-core, light on a desk and dark on a phone, and fits 360 pixels', async () => {
    const { page } = dashboard;
    await eachPage(async (shown) => {
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await page.setViewportSize(desk);
      await settle(shown);
      const wrong: unknown[] = await accessFaults(page);
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
      await page.setViewportSize({ width: 360, height: 740 });
      const fits = async () =>
        (await page.evaluate('document.documentElement.scrollWidth')) === 360;
      await until('it fits', 5_000, fits).catch(() => wrong.push('wider than 360 pixels'));
      return [...wrong, ...(await accessFaults(page))];
    });
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.setViewportSize(desk);
  });

  it('leads to each of its controls by the Tab key, shows where the focus is, and needs no mouse', async () => {
    await eachPage(async (shown) => {
      // A console takes the key for itself.
      if (shown.name.endsWith('-console')) return [];
      await settle(shown);
      const { missed, ringless, mouseOnly } = await walkByKeyboard(dashboard.page);
      const wrong = { missed, ringless, mouseOnly };
      return Object.values(wrong).flat().length === 0 ? [] : [wrong];
    });
  });

  it('has tabs, menus, dialogs and logs that the keys move through, and gives the focus back', async () => {
    const { page, visit } = dashboard;
    const focused = page.locator(':focus');
    await visit('/backups');
    await page.getByRole('tab', { name: 'Runs' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: 'Schedules', selected: true }).waitFor();
    await page.getByRole('row', { name: /Orders/ }).waitFor();
    await visit(pages.find(({ name }) => name === 'app')?.path ?? '');
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
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press('Tab');
      assert.equal(
        await page.evaluate(`document.activeElement.closest('[role=dialog]') !== null`),
        true,
      );
    }
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await focused.innerText()).trim(), 'Invite');
    await visit(pages.find(({ name }) => name === 'app-log')?.path ?? '');
    await page.locator('.log-row[data-offset]').last().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.locator('.log-scroll').focus();
    await page.keyboard.press('Home');
    await page.locator('.log-row[data-offset="1"]').waitFor();
    await page.getByRole('button', { name: 'To the newest line' }).waitFor();
    await page.keyboard.press('End');
    await page.getByRole('button', { name: 'To the newest line' }).waitFor({ state: 'detached' });
  });

  it('complains of nothing', () => assert.deepEqual(dashboard.complaints, []));
});
