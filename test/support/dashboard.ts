/** The dashboard of a whole Gangway in a real browser, for tests of its pages. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, networkChanged, openBrowser } from './browser.ts';
import type { Client } from './gangway-client.ts';
import { Gangway, type GangwayOptions } from './gangway.ts';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const isAgain = new RegExp(`interrupted by another navigation|${networkChanged}`);
/** The first page waits until the dashboard is built. */
const pageMs = 60_000;

export interface DashboardOptions extends GangwayOptions {
  viewport?: { width: number; height: number };
  dark?: boolean;
  /** Complaints of pages that the test provokes, such as a refused request's status. */
  expected?: RegExp;
}

export interface Tab {
  page: Page;
  /** What the page complained of: to be empty at the end. */
  complaints: string[];
  /** Goes to a path and waits until its heading is there. */
  visit: (path: string, heading?: string | RegExp) => Promise<void>;
  /** Does it again where Chromium broke off what the page loaded meanwhile. */
  whole: <T>(load: () => Promise<T>) => Promise<T>;
}

/** Its tab is signed in as the owner, and at no page yet. */
export interface Dashboard extends Tab {
  gangway: Gangway;
  browser: Browser;
  context: BrowserContext;
  /** GraphQL requests that the page sent since the last call, by the names of their operations. */
  requests: () => string[];
  end: () => Promise<void>;
}

/** Opens one; what it opens ends by `end`, also where opening fails. */
export async function openDashboard(options: DashboardOptions = {}): Promise<Dashboard> {
  const { viewport = { width: 1440, height: 900 }, dark = false, expected, ...rest } = options;
  const gangway = await Gangway.open(rest);
  const browser = await openBrowser().catch(async (error: unknown) => {
    await gangway.end();
    throw error;
  });
  const end = async (): Promise<void> => {
    await browser.close();
    await gangway.end();
  };
  try {
    const context = await browser.newContext({
      viewport,
      baseURL: gangway.url,
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
    });
    await signInWith(context, gangway.client, gangway.url);
    // The first one is built now, which takes a while where other tests run, too.
    await fetch(gangway.url, { headers: { cookie: gangway.client.cookie } });
    const tab = await openTab(context, expected);
    const asked: string[] = [];
    tab.page.on('request', (request) => {
      if (request.method() !== 'POST' || !request.url().endsWith('/api/graphql')) return;
      const { operationName } = request.postDataJSON() as { operationName?: string };
      asked.push(operationName ?? '');
    });
    const requests = (): string[] => asked.splice(0);
    return { ...tab, gangway, browser, context, requests, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Another tab of a window; `expected` as for a dashboard. */
export async function openTab(context: BrowserContext, expected?: RegExp): Promise<Tab> {
  const page = await context.newPage();
  page.setDefaultTimeout(pageMs);
  const whole = wholeLoads(page);
  const visit = (path: string, heading: string | RegExp = /./): Promise<void> =>
    whole(async () => {
      await page.goto(path);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    });
  return { page, complaints: complaintsOf(page, expected), visit, whole };
}

/**
 * Chromium breaks off all connections whenever this machine gets or loses an address, as it does by each container of
 * the tests beside this one.
 */
function wholeLoads(page: Page): Tab['whole'] {
  const torn: unique symbol = Symbol('broken off');
  let tear: () => void = () => undefined;
  page.on('requestfailed', (request) => {
    const isNeeded = ['document', 'script', 'stylesheet', 'fetch'].includes(request.resourceType());
    if (isNeeded && request.failure()?.errorText === networkChanged) tear();
  });
  return async (load) => {
    for (;;) {
      const tears = new Promise<typeof torn>((resolve) => {
        tear = () => {
          resolve(torn);
        };
      });
      // Chromium may go there again by itself, before it says so.
      const loaded = load().catch((error: unknown): typeof torn => {
        if (isAgain.test(String(error))) return torn;
        throw error;
      });
      loaded.catch(() => undefined);
      const first = await Promise.race([tears, loaded]);
      if (first !== torn) return first;
    }
  };
}

/** Gives a browser the session that a client has. */
export async function signInWith(
  context: BrowserContext,
  client: Pick<Client, 'cookie'>,
  url: string,
): Promise<void> {
  const [name = '', ...value] = client.cookie.split('=');
  await context.addCookies([{ name, value: value.join('='), url, httpOnly: true }]);
}

/** Fails with what axe-core finds serious or worse on the page as it is. */
export async function assertAccessible(page: Page): Promise<void> {
  assert.deepEqual(await accessFaults(page), []);
}

export interface AccessFault {
  id: string;
  impact: string;
  nodes: string[];
}

/** What axe-core finds serious or worse on the page as it is; by the named rules, or by all. */
export async function accessFaults(page: Page, rules?: readonly string[]): Promise<AccessFault[]> {
  // By a debugger's evaluation, which the policy of the page does not bind.
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axe);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const found = await page.evaluate<AccessFault[]>(`
    axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, impact, nodes }) =>
      ({ id, impact, nodes: nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary) })))`);
  return found.filter(({ impact }) => impact === 'serious' || impact === 'critical');
}
