/**
 * Whether an app gets the panel's cookie from a browser that is signed in there, and is then led to
 * every place where the app can be reached.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openBrowser } from '../support/browser.ts';
import { cleanups } from '../support/cleanups.ts';
import { type ContainerPlace, containerPlace, dockerfileOf } from '../support/container-place.ts';
import { type AppInfo, archiveOf, owner } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

// It listens on all addresses, tells what it is sent, and leads elsewhere at `/go?<url>`.
const program = `
require('node:http').createServer((request, response) => {
  if (request.url.startsWith('/go?')) response.writeHead(302, { location: request.url.slice(4) }).end();
  else response.end(JSON.stringify({ port: process.env.PORT, cookie: request.headers.cookie ?? '' }));
}).listen(process.env.PORT);
`;

interface Told {
  port: string;
  cookie: string;
}

const cookieName = 'service.session_token';

async function signIn(page: Page, { url }: Gangway): Promise<void> {
  await page.goto(`${url}/login?next=/login%3Fdone`);
  await page.getByLabel('Email').fill(owner.email);
  await page.getByLabel('Password').fill(owner.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((now) => !now.pathname.startsWith('/login') || now.search === '?done');
  assert.ok((await page.context().cookies()).some(({ name }) => name === cookieName));
}

function visitedAt({ edgePort }: Gangway, { slug }: AppInfo, path = '/'): string {
  return `http://${slug}.localhost:${String(edgePort)}${path}`;
}

async function toldAt(page: Page, url: string): Promise<Told> {
  await page.goto(url);
  return JSON.parse(await page.locator('body').innerText()) as Told;
}

const atEnd = cleanups();
let browser: Browser;
before(async () => {
  if (needs('chromium') !== false) return;
  browser = await openBrowser(['panel.example.test']);
  atEnd(() => browser.close());
});

describe(
  'the cookie of the panel, where programs of the machine share its network',
  { skip: needs('chromium') },
  () => {
    let gangway: Gangway;
    let app: AppInfo;
    before(async () => {
      // In networks of their own apps are not reached under the panel's name.
      const env = { GANGWAY_TRUSTED_PROXIES: '127.0.0.1', GANGWAY_ISOLATION_WITHOUT: 'network' };
      gangway = await Gangway.open({ env });
      const archive = archiveOf({ Procfile: 'web: node web.js', 'web.js': program });
      app = await gangway.client.runningApp('Evil', archive);
    });
    after(() => gangway.end());

    it('reaches an app over plain http, which the log warns of', async (t) => {
      const context = await browser.newContext();
      t.after(() => context.close());
      const page = await context.newPage();
      await signIn(page, gangway);
      const { port, cookie } = await toldAt(page, visitedAt(gangway, app));
      assert.equal(cookie, '', 'not by the address that apps have');
      const there = `http://127.0.0.1:${port}/`;
      assert.match(
        (await toldAt(page, visitedAt(gangway, app, `/go?${there}`))).cookie,
        new RegExp(`${cookieName}=`),
      );
      const [warning] = gangway.logged('panel_cookie_reaches_apps');
      assert.match(String(warning?.['detail']), /hands it the session.*over https/);
    });

    it('reaches no app when the panel is on https', async (t) => {
      const context = await browser.newContext();
      t.after(() => context.close());
      const page = await context.newPage();
      await context.addCookies([await secureCookie(gangway)]);
      const { port } = await toldAt(page, visitedAt(gangway, app));
      const there = `http://panel.example.test:${port}/`;
      const told = await toldAt(page, visitedAt(gangway, app, `/go?${there}`));
      assert.deepEqual(told, { port, cookie: '' });
    });
  },
);

describe(
  'the cookie of the panel, where programs have networks of their own',
  { skip: needs('chromium', 'root', 'ip', 'iptables', 'unshare', 'nsenter') },
  () => {
    let gangway: Gangway;
    let app: AppInfo;
    before(async () => {
      gangway = await Gangway.open();
      const archive = archiveOf({ Procfile: 'web: node web.js', 'web.js': program });
      app = await gangway.client.runningApp('Evil', archive);
    });
    after(() => gangway.end());

    it('reaches no app, for none is at any port of the panel, and nothing warns', async (t) => {
      const visitor = await browser.newContext();
      t.after(() => visitor.close());
      const page = await visitor.newPage();
      await signIn(page, gangway);
      const { port, cookie } = await toldAt(page, visitedAt(gangway, app));
      assert.equal(cookie, '');
      await assertUnreached(visitor, gangway, app, port);
      assert.deepEqual(gangway.logged('panel_cookie_reaches_apps'), []);
    });
  },
);

/** That no app leads a browser to its port under a name of the panel. */
async function assertUnreached(
  visitor: BrowserContext,
  gangway: Gangway,
  app: AppInfo,
  port: string,
): Promise<void> {
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    // Chromium's own page of an error may come late, over what the same tab is sent to next.
    const tab = await visitor.newPage();
    await assert.rejects(
      tab.goto(visitedAt(gangway, app, `/go?http://${host}:${port}/`)),
      /ERR_CONNECTION_REFUSED/,
    );
  }
}

type Cookie = Parameters<BrowserContext['addCookies']>[0][number];

/** What a browser keeps of signing in at `https://panel.example.test`, behind a proxy with TLS. */
async function secureCookie(gangway: Gangway): Promise<Cookie> {
  const { headers } = await gangway.stranger().ask('/login', {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'https',
    },
    body: new URLSearchParams(owner).toString(),
  });
  const given = headers.getSetCookie().find((one) => one.startsWith(`${cookieName}=`)) ?? '';
  assert.match(given, /; Secure(;|$)/);
  assert.doesNotMatch(given, /; Domain=/i);
  const value = /^[^=]+=([^;]*)/.exec(given)?.[1] ?? '';
  const kept = { httpOnly: true, secure: true, sameSite: 'Lax' } as const;
  return { name: cookieName, value, url: 'https://panel.example.test/', ...kept };
}

describe(
  'the cookie of the panel, where containers are run',
  { skip: needs('docker', 'chromium') },
  () => {
    let place: ContainerPlace;
    let app: AppInfo;
    before(async () => {
      place = await containerPlace();
      const Dockerfile = dockerfileOf('COPY web.js /', 'CMD ["node", "/web.js"]');
      const archive = archiveOf({ Dockerfile, 'web.js': program });
      app = await place.gangway.client.runningApp('Evil', archive);
    });
    after(() => place.close());

    it('reaches no app, for none is at any port of the panel', async () => {
      const { gangway } = place;
      const visitor = await browser.newContext();
      const page = await visitor.newPage();
      await signIn(page, gangway);
      const { port, cookie } = await toldAt(page, visitedAt(gangway, app));
      assert.equal(cookie, '');
      await assertUnreached(visitor, gangway, app, port);
      const containers = await place.containers();
      assert.deepEqual(
        containers.flatMap(({ Ports: ports }) => ports.filter((one) => one.PublicPort)),
        [],
      );
      // A browser on the very machine reaches the container's own address, which is no name of the panel.
      const [address] = containers.flatMap(({ NetworkSettings: { Networks: networks } }) =>
        Object.values(networks).map(({ IPAddress: one }) => one),
      );
      const there = `http://${String(address)}:${port}/`;
      assert.deepEqual(await toldAt(page, visitedAt(gangway, app, `/go?${there}`)), {
        port,
        cookie: '',
      });
      assert.deepEqual(gangway.logged('panel_cookie_reaches_apps'), []);
    });
  },
);
