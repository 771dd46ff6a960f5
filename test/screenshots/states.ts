/** Owns in which states pages are shown, and what it takes to bring them there. */
import type { Page } from 'playwright-core';
import type { Gangway } from '../support/gangway.ts';
import { shownPages } from '../support/shown-paths.ts';
import { backupsEnded, furnish, furnishEmpty } from '../support/shown-world.ts';
import { moments } from './moments.ts';
import { takeOutside } from './outside.ts';
import { contextOf, type Studio, takeAll } from './studio.ts';

/** `outside`: the pages of who is not signed in, which is the only state of an instance that is not set up. */
export const states = ['outside', 'empty', 'full', 'failing'] as const;
export type State = (typeof states)[number];

export function isState(name: string): name is State {
  return states.some((state) => state === name);
}

const takers: Readonly<Record<State, (studio: Studio) => Promise<void>>> = {
  outside: takeOutside,
  empty: takeEmpty,
  full: takeFull,
  failing: takeFailing,
};

export async function takeState(state: State, studio: Studio): Promise<void> {
  // The first page of an instance is only there before.
  if (state !== 'outside') await ensureSetUp(studio.gangway);
  await takers[state](studio);
}

/** Does it where no earlier state has. */
async function ensureSetUp({ client }: Gangway): Promise<void> {
  const { needsSetup } = await client.must<{ needsSetup: boolean }>('{ needsSetup }');
  if (needsSetup) await client.setUp();
  // The dashboard is built now, which takes a while.
  await client.ask('/');
}

async function takeEmpty(studio: Studio): Promise<void> {
  const { nothing, started, shown } = await furnishEmpty(studio.gangway);
  const pages = await shownPages(shown);
  await takeAll(
    studio,
    'empty',
    nothing,
    pages.filter(({ isOfThing }) => !isOfThing),
  );
  await takeAll(
    studio,
    'empty',
    started,
    pages.filter(({ isOfThing }) => isOfThing),
  );
}

async function takeFull(studio: Studio): Promise<void> {
  const { full, failing } = await furnish(studio.gangway);
  await backupsEnded(studio.gangway);
  const { client } = studio.gangway;
  await takeAll(studio, 'full', client, await shownPages(full));
  const broken = (await shownPages(failing)).filter(({ name }) => name.startsWith('app-'));
  const some = broken.filter(({ name }) => /^app-(overview|deployment)/.test(name));
  await takeAll(
    studio,
    'full',
    client,
    some.map((page) => ({ ...page, name: `broken-${page.name}` })),
  );
  const context = await contextOf(studio, client);
  const page = await context.newPage();
  for (const { name, show } of moments) {
    await studio.camera.take(page, 'full', name, () => show(page, full));
  }
  await context.close();
}

/** The frame stands, and all that pages ask for is refused. */
async function takeFailing(studio: Studio): Promise<void> {
  const { client } = studio.gangway;
  const shown = { appId: 'app_0', deploymentId: 'dpl_0', databaseId: 'db_0' };
  await takeAll(studio, 'failing', client, await shownPages(shown), refuse);
}

async function refuse(page: Page): Promise<void> {
  await page.route('**/api/graphql', async (route) => {
    const { operationName } = route.request().postDataJSON() as { operationName?: string };
    if (operationName === 'Session') {
      await route.continue();
      return;
    }
    const extensions = { code: 'INTERNAL', requestId: 'req_01kfz0q3v8w5d7n2x4c6b9m1ta' };
    const errors = [{ message: 'Something went wrong in the service.', extensions }];
    await route.fulfill({ json: { data: null, errors } });
  });
}
