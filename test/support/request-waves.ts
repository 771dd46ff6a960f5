/** How the requests of a page depend on each other: seen by holding their answers back. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Page, Request, Route } from 'playwright-core';
import { until } from './eventually.ts';

const calmChecks = 4;
const checkMs = 40;
const wavesMax = 6;

/**
 * What the page asks of the API while it opens: first what it asks before any answer came, then what it asks once
 * it had those answers, and so on. What it asks again is left out: that renews, and leads to nothing further. So are
 * streams and pictures: nothing waits for what they bring.
 */
export async function wavesOf(page: Page, open: () => Promise<unknown>): Promise<string[][]> {
  const held: Route[] = [];
  const others = new Set<Request>();
  const begin = (request: Request): void => {
    if (!isOfApi(request)) others.add(request);
  };
  const end = (request: Request): void => void others.delete(request);
  page.on('request', begin);
  page.on('requestfinished', end);
  page.on('requestfailed', end);
  const hold = async (route: Route): Promise<void> => {
    if (isAside(route.request())) await route.continue();
    else held.push(route);
  };
  await page.route('**/api/**', hold);
  const waves: string[][] = [];
  const known = new Set<string>();
  try {
    await open();
    await until('the page asks the API', 20_000, () => held.length > 0);
    while (waves.length < wavesMax) {
      await calm(page, () => held.length * 1_000 + others.size, others);
      if (held.length === 0) break;
      const wave = held.splice(0);
      const names = wave.map((route) => nameOf(route.request()));
      const fresh = [...new Set(names)].filter((name) => !known.has(name));
      for (const name of fresh) known.add(name);
      if (fresh.length > 0) waves.push(fresh.sort());
      await Promise.all(
        wave.map(async (route) => {
          await route.continue();
          await route.request().response();
        }),
      );
    }
  } finally {
    await page.unroute('**/api/**', hold);
    for (const route of held) await route.continue();
    page.off('request', begin);
    page.off('requestfinished', end);
    page.off('requestfailed', end);
  }
  return waves;
}

/** Nothing else is being loaded, and the page has had nothing to do a few times in a row. */
async function calm(page: Page, state: () => number, others: ReadonlySet<Request>): Promise<void> {
  let last = NaN;
  for (let quiet = 0; quiet < calmChecks;) {
    await page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))');
    await pause(checkMs);
    quiet = state() === last && others.size === 0 ? quiet + 1 : 0;
    last = state();
  }
}

function isOfApi(request: Request): boolean {
  return new URL(request.url()).pathname.startsWith('/api/');
}

/** A log that is followed, a console, or a picture. */
function isAside(request: Request): boolean {
  return (
    ['eventsource', 'image'].includes(request.resourceType()) || request.url().includes('/attach')
  );
}

/** Of the operation, or the path. */
function nameOf(request: Request): string {
  const { pathname } = new URL(request.url());
  if (request.method() !== 'POST' || pathname !== '/api/graphql') return pathname;
  const { operationName } = request.postDataJSON() as { operationName?: string };
  return operationName ?? pathname;
}
