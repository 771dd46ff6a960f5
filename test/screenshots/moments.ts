/** What pages show when somebody does something: dialogs, menus, the palette, a drawer, a refused form. */
import type { Page } from 'playwright-core';
import type { Shown } from '../support/shown-world.ts';
import { goTo } from './camera.ts';

interface Moment {
  name: string;
  show: (page: Page, shown: Shown) => Promise<void>;
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

export const moments: readonly Moment[] = [
  {
    name: 'moment-palette',
    show: async (page) => {
      await goTo(page, '/');
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Search' }).waitFor();
      await page.keyboard.type('sh');
    },
  },
  {
    name: 'moment-user-menu',
    show: async (page) => {
      await goTo(page, '/');
      await button(page, /account$/).click();
      await page.getByRole('menu').waitFor();
    },
  },
  {
    name: 'moment-navigation',
    show: async (page) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await goTo(page, '/');
      await button(page, 'Navigation').click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'moment-dialog',
    show: async (page) => {
      await goTo(page, '/team');
      await button(page, 'Invite').click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'moment-delete',
    show: async (page, { appId }) => {
      await goTo(page, `/apps/${appId}/settings`);
      await button(page, 'Delete this app…').click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'moment-refused',
    show: async (page) => {
      await goTo(page, '/backups');
      await page.getByRole('tab', { name: 'Destinations' }).click();
      await button(page, 'New destination').first().click();
      await page.getByLabel('Name').fill('Elsewhere');
      await page.getByLabel('Folder').fill('/etc');
      await button(page, 'Create').click();
      await page.getByRole('dialog').getByRole('alert').waitFor();
    },
  },
  {
    name: 'moment-chosen-sample',
    show: async (page) => {
      await goTo(page, '/apps/new');
      await page.getByRole('radio', { name: /sample/i }).check();
    },
  },
];
