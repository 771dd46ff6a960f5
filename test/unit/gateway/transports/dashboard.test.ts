import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Authenticator } from '../../../../src/auth/callers/authenticator.ts';
import { anonymous } from '../../../../src/auth/callers/principal.ts';
import { Callers } from '../../../../src/gateway/credentials.ts';
import { pathPattern } from '../../../../src/gateway/pages/dashboard-shell.ts';
import {
  dashboardRoutes,
  type LoadedDashboard,
} from '../../../../src/gateway/transports/dashboard.ts';
import type { Route } from '../../../../src/gateway/transport.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';

const cookie = 'service.session_token=ann';
const authenticator: Authenticator = {
  byCookie: ({ cookieHeader }) =>
    cookieHeader === cookie
      ? { kind: 'person', userId: 'usr_ann', sessionId: 'ses_ann', teamId: null }
      : anonymous,
  byToken: () => ({ kind: 'token', userId: 'usr_ann', tokenId: 'tok_a', teamId: 'team_a' }),
  stillValid: () => true,
};
const script = Buffer.from('console.log("here");'.repeat(50));
const built: LoadedDashboard = {
  manifest: {
    digest: 'd',
    entry: {
      theme: 'theme-1.js',
      script: 'main-1.js',
      imports: ['react-1.js'],
      style: 'style-1.css',
    },
    pages: [
      { path: '/', scripts: ['overview-1.js'] },
      { path: '/apps/:id/:tab?', scripts: ['app-1.js', 'chunk-1.js'] },
      { path: '/docs/*', scripts: [] },
    ],
    files: { 'main-1.js': 'text/javascript; charset=utf-8' },
  },
  files: new Map([
    [
      'main-1.js',
      {
        type: 'text/javascript; charset=utf-8',
        brotli: brotliCompressSync(script),
        gzip: gzipSync(script),
      },
    ],
  ]),
};

let gateway: TestGateway;
let needsSetup = false;
let load: () => Promise<LoadedDashboard> = () => Promise.resolve(built);
const other: Route = {
  method: 'GET',
  path: '/console',
  handle: (exchange) => exchange.send(200, {}, 'theirs'),
};

before(async () => {
  const callers = new Callers({
    authenticator,
    publicUrl: () => ({ url: 'https://panel.example.com', configured: true }),
  });
  gateway = await startGateway([
    other,
    ...dashboardRoutes({
      ...{ callers, needsSetup: () => needsSetup, formTargets: ['https://github.example'] },
      builds: { load: () => load() },
    }),
  ]);
});
after(() => gateway.close());
beforeEach(() => {
  needsSetup = false;
  load = () => Promise.resolve(built);
});

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const ann = { ...browser, cookie };

function get(path: string, headers: Record<string, string> = ann): Promise<Response> {
  return fetch(`${gateway.url}${path}`, { redirect: 'manual', headers });
}

async function leadsTo(answering: Promise<Response>, location: string): Promise<void> {
  const answer = await answering;
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, location]);
}

describe('the page of the dashboard', () => {
  it('leads to setup on an empty instance, and to signing in and back without a session', async () => {
    await leadsTo(get('/', browser), '/login');
    await leadsTo(get('/', { ...browser, cookie: 'service.session_token=stale' }), '/login');
    await leadsTo(
      get('/apps/app_1?tab=a%26b', browser),
      '/login?next=%2Fapps%2Fapp_1%3Ftab%3Da%2526b',
    );
    needsSetup = true;
    await leadsTo(get('/'), '/setup');
  });

  it('is the same for every page, with the scripts of the page asked for', async () => {
    for (const [path, ...own] of [
      ['/', 'overview-1.js'],
      ['/apps/app_1', 'app-1.js', 'chunk-1.js'],
      ['/apps/app_1/log?q=x', 'app-1.js', 'chunk-1.js'],
      ['/docs/a/b/c'],
    ] as const) {
      const answer = await get(path);
      assert.equal(answer.status, 200, path);
      const text = await answer.text();
      const loaded = [...text.matchAll(/"\/assets\/([^"]+)"/g)].map(([, name]) => name);
      assert.deepEqual(
        loaded,
        ['theme-1.js', 'style-1.css', 'main-1.js', 'react-1.js', ...own],
        path,
      );
    }
  });

  it('is held to a strict policy, and has nothing inline', async () => {
    const answer = await get('/');
    assert.equal(
      answer.headers.get('content-security-policy'),
      `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ` +
        `img-src 'self' data:; font-src 'self'; form-action 'self' https://github.example; ` +
        `base-uri 'none'; frame-ancestors 'none'`,
    );
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.doesNotMatch(await answer.text(), /<style|style=|<script>|\son\w+=/);
  });

  it('is asked for anew each time, and not sent again while it is the same', async () => {
    const first = await get('/');
    assert.equal(first.headers.get('cache-control'), 'no-cache, private');
    const etag = first.headers.get('etag') ?? '';
    const second = await get('/', { ...ann, 'if-none-match': etag });
    assert.deepEqual([second.status, await second.text()], [304, '']);
    assert.equal((await get('/apps/a', { ...ann, 'if-none-match': etag })).status, 200);
    await leadsTo(get('/', { ...browser, 'if-none-match': etag }), '/login');
  });

  it('answers HEAD', async () => {
    const answer = await fetch(`${gateway.url}/apps/a`, { method: 'HEAD', headers: ann });
    assert.equal(answer.status, 200);
  });

  it('has a view of its own for an unknown path, with 404, for people alone', async () => {
    const unknown = await get('/nowhere/at/all');
    assert.equal(unknown.status, 404);
    assert.match(await unknown.text(), /main-1\.js/);
    for (const headers of [browser, { accept: '*/*', cookie }, {}]) {
      const answer = await get('/nowhere', headers);
      assert.equal(answer.status, 404);
      assert.equal(answer.headers.get('content-type'), 'application/problem+json');
    }
    for (const path of ['/api/nothing', '/.well-known/nothing', '/api']) {
      const answer = await get(path);
      assert.deepEqual(
        [answer.status, answer.headers.get('content-type')],
        [404, 'application/problem+json'],
      );
    }
    assert.equal((await fetch(`${gateway.url}/apps/a`, { method: 'POST' })).status, 404);
  });

  it('is no token’s', async () => {
    const answer = await get('/', { ...browser, authorization: 'Bearer gwy_x' });
    assert.equal(answer.status, 403);
  });

  it('leaves alone what is somebody else’s', async () => {
    assert.equal(await (await get('/console')).text(), 'theirs');
  });

  it('waits for a build, and tells people why there is none', async () => {
    const building = Promise.withResolvers<LoadedDashboard>();
    load = () => building.promise;
    const waiting = get('/');
    building.resolve(built);
    assert.equal((await waiting).status, 200);
    load = () => Promise.reject(new Error('web/main.tsx:3: <b> Unexpected "}"'));
    const failed = await get('/');
    assert.equal(failed.status, 503);
    assert.match(await failed.text(), /web\/main\.tsx:3: &#60;b&#62; Unexpected/);
    await leadsTo(get('/apps/a', browser), '/login?next=%2Fapps%2Fa');
    assert.equal((await get('/assets/main-1.js', {})).status, 404);
  });
});

describe('the files of the dashboard', () => {
  it('come as the client takes them, for ever', async () => {
    for (const [accepted, coding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip;q=1, br;q=0.5', 'gzip'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
    ] as const) {
      const headers = { 'accept-encoding': accepted };
      const answer = await get('/assets/main-1.js', headers);
      assert.equal(answer.headers.get('content-encoding'), coding, accepted);
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), script);
      assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      assert.equal(answer.headers.get('vary'), 'Accept-Encoding');
      assert.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8');
    }
    for (const accepted of ['identity', 'zstd', 'br;q=0']) {
      const headers = { 'accept-encoding': accepted };
      const answer = await get('/assets/main-1.js', headers);
      assert.equal(answer.headers.get('content-encoding'), null);
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), script);
    }
  });

  it('are only those of the build', async () => {
    for (const name of ['none.js', 'manifest.json', '..%2fmanifest.json']) {
      assert.equal((await get(`/assets/${name}`, {})).status, 404, name);
    }
  });
});

describe('pathPattern()', () => {
  it('knows the paths of a page', () => {
    const fits = (pattern: string, path: string): boolean => pathPattern(pattern).test(path);
    assert.deepEqual(
      ['/apps/a', '/apps/a/', '/apps/a/b', '/apps', '/apps/a/b/c', '/appsx/a'].map((path) =>
        fits('/apps/:id/:tab?', path),
      ),
      [true, true, true, false, false, false],
    );
    assert.deepEqual(
      ['/', '/a', ''].map((path) => fits('/', path)),
      [true, false, false],
    );
    assert.deepEqual(
      ['/d', '/d/a/b', '/de'].map((path) => fits('/d/*', path)),
      [true, true, false],
    );
    assert.ok(!fits('/a.b', '/aXb'));
  });
});
