/** What holds for every page of the dashboard, walked through by its routes, in a team that has something of everything. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import { walkByKeyboard } from '../support/keyboard-walk.ts';
import { needs } from '../support/programs.ts';
import { wavesOf } from '../support/request-waves.ts';
import { type ShownPage, shownPages } from '../support/shown-paths.ts';
import { furnish } from '../support/shown-world.ts';

const wavesMax = 2;
const requestsMax = 5;

describe('every page of the dashboard', { skip: needs('chromium', 'git') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  let pages: ShownPage[];
  before(async () => {
    dashboard = await openDashboard();
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

  it('is accessible to axe-core, light and dark, and fits a phone of 360 pixels', async () => {
    const { page } = dashboard;
    await eachPage(async (shown) => {
      const wrong: unknown[] = [];
      await settle(shown);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await assertAccessible(page).catch((error: unknown) => wrong.push(colorScheme, error));
      }
      await page.setViewportSize({ width: 360, height: 740 });
      const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
      await until('it fits', 5_000, async () => (await width()) === 360).catch(() =>
        wrong.push('too wide'),
      );
      await assertAccessible(page).catch((error: unknown) => wrong.push('phone', error));
      await page.setViewportSize({ width: 1440, height: 900 });
      return wrong;
    });
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
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

  it('complains of nothing', () => assert.deepEqual(dashboard.complaints, []));
});
