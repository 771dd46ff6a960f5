/** Owns where pictures are taken: the service, the browser, and who is signed in there. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { signInWith } from '../support/dashboard.ts';
import type { Client } from '../support/gangway-client.ts';
import type { Gangway } from '../support/gangway.ts';
import type { ShownPage } from '../support/shown-paths.ts';
import { type Camera, goTo, restMs } from './camera.ts';

export interface Studio {
  gangway: Gangway;
  browser: Browser;
  camera: Camera;
}

/** A window of who has the client's session. */
export async function contextOf(
  { browser, gangway }: Studio,
  client: Pick<Client, 'cookie'>,
): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: gangway.url });
  context.setDefaultTimeout(restMs);
  if (client.cookie !== '') await signInWith(context, client, gangway.url);
  return context;
}

/** By two at once, which keeps two cores at work. */
export async function takeAll(
  studio: Studio,
  state: string,
  client: Client,
  pages: readonly ShownPage[],
  prepare: (page: Page) => Promise<void> = async () => {},
): Promise<void> {
  const left = pages.filter(({ name }) => studio.camera.wants(name));
  if (left.length === 0) return;
  const context = await contextOf(studio, client);
  const takeSome = async (): Promise<void> => {
    const page = await context.newPage();
    await prepare(page);
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { name, path } = next;
      await studio.camera.take(page, state, name, () => goTo(page, path));
    }
  };
  await Promise.all([takeSome(), takeSome()]);
  await context.close();
}
