/**
 * Owns how the dashboard is served: its page at every path that is nobody else's, and its files.
 *
 * 1. The page is for people. Who is not signed in is led to the sign-in page and back, and to setup on an
 *    empty instance; a token is refused. The files are for everybody.
 * 2. A path that is no page's shows the dashboard's own view with 404 to a browser of a person; everybody
 *    else gets what every unknown path gets.
 * 3. A file's name changes with its content, so browsers keep it for ever.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { DashboardManifest } from '../../protocol/dashboard-build.ts';
import { negotiate } from '../http/accept.ts';
import { notFound } from '../http/problem.ts';
import { type Callers, personAt } from '../credentials.ts';
import {
  assetsPath,
  dashboardPolicy,
  pathPattern,
  type Shell,
  shellOf,
} from '../pages/dashboard-shell.ts';
import { asAsked, loginFor } from '../pages/form.ts';
import { html, redirect, sendPage } from '../pages/page.ts';
import { everyPath } from '../routes.ts';
import type { Exchange, Headers, Route } from '../transport.ts';

/** A file as it goes over the wire. */
export interface DashboardFile {
  readonly type: string;
  readonly brotli: Buffer;
  readonly gzip: Buffer;
}

export interface LoadedDashboard {
  readonly manifest: DashboardManifest;
  readonly files: ReadonlyMap<string, DashboardFile>;
}

export interface DashboardBuilds {
  /** Waits for a build that is under way. Rejects with what to tell when it fails. */
  load(): Promise<LoadedDashboard>;
}

export interface DashboardRoutesOptions {
  builds: DashboardBuilds;
  callers: Pick<Callers, 'either'>;
  needsSetup: () => boolean;
  /** Origins that forms of the dashboard may lead on to, such as GitHub's. */
  formTargets: readonly string[];
}

export function dashboardRoutes(options: DashboardRoutesOptions): Route[] {
  const pages = new DashboardPages(options);
  const at = (path: string): Route => ({
    ...{ method: 'GET', path, head: true, handle: (exchange) => pages.show(exchange) },
  });
  return [
    at('/'),
    at(everyPath),
    {
      ...{ method: 'GET', path: `${assetsPath}/:file`, head: true },
      handle: (exchange) => sendFile(exchange, options.builds),
    },
  ];
}

/** Pages of one build: made once for each page. */
interface Shells {
  readonly patterns: readonly RegExp[];
  readonly known: readonly Shell[];
  readonly unknown: Shell;
}

class DashboardPages {
  readonly #options: DashboardRoutesOptions;
  readonly #shells = new WeakMap<DashboardManifest, Shells>();
  readonly #policy: string;

  constructor(options: DashboardRoutesOptions) {
    this.#options = options;
    this.#policy = dashboardPolicy(options.formTargets);
  }

  async show(exchange: Exchange): Promise<void> {
    const { callers, needsSetup } = this.#options;
    const path = exchange.params['*'] ?? '/';
    if (path !== '/' && !wantsPage(exchange)) throw notFound();
    if (needsSetup()) {
      if (path !== '/') throw notFound();
      redirect(exchange, '/setup');
      return;
    }
    if (personAt(exchange, callers) !== null) await this.#send(exchange, path);
    else if (path === '/') redirect(exchange, '/login');
    else await this.#leadToLogin(exchange, path);
  }

  async #leadToLogin(exchange: Exchange, path: string): Promise<void> {
    const shells = await this.#options.builds.load().then(
      ({ manifest }) => this.#shellsOf(manifest),
      () => null, // Whoever has signed in is told.
    );
    if (shells?.patterns.every((pattern) => !pattern.test(path)) === true) throw notFound();
    if (!exchange.aborted) redirect(exchange, loginFor(asAsked(path, exchange)));
  }

  async #send(exchange: Exchange, path: string): Promise<void> {
    let shells: Shells;
    try {
      shells = this.#shellsOf((await this.#options.builds.load()).manifest);
    } catch (error) {
      if (!exchange.aborted) sendFailure(exchange, error);
      return;
    }
    if (exchange.aborted) return;
    const page = shells.patterns.findIndex((pattern) => pattern.test(path));
    const { body, etag } = shells.known[page] ?? shells.unknown;
    const headers: Headers = {
      'Content-Type': 'text/html; charset=utf-8',
      // It is asked for anew each time, since whether somebody is signed in decides.
      'Cache-Control': 'no-cache, private',
      ETag: etag,
      'Content-Security-Policy': this.#policy,
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'same-origin',
    };
    const status = page < 0 ? 404 : 200;
    if (status === 200 && exchange.header('if-none-match') === etag) {
      exchange.send(304, headers, '');
    } else exchange.send(status, headers, body);
  }

  #shellsOf(manifest: DashboardManifest): Shells {
    const known = this.#shells.get(manifest);
    if (known !== undefined) return known;
    const made = {
      patterns: manifest.pages.map(({ path }) => pathPattern(path)),
      known: manifest.pages.map((_, page) => shellOf(manifest, page)),
      unknown: shellOf(manifest, null),
    };
    this.#shells.set(manifest, made);
    return made;
  }
}

/** Whether a browser asks for a page, and no program for whatever is there. */
function wantsPage(exchange: Exchange): boolean {
  return exchange.header('accept').includes('text/html');
}

function sendFailure(exchange: Exchange, error: unknown): void {
  const told = error instanceof Error ? error.message : String(error);
  const page = html`<h1>The dashboard could not be built</h1>
    <p>The API and all apps go on. Load this page again once the cause is mended:</p>
    <p role="alert">${told}</p>
    <a href="/api/graphql" class="plain">Open the API explorer</a>`;
  sendPage(exchange, 503, 'Dashboard', page, { 'Retry-After': '5' });
}

async function sendFile(exchange: Exchange, builds: DashboardBuilds): Promise<void> {
  const { files } = await builds.load().catch(() => {
    throw notFound();
  });
  const file = files.get(exchange.param('file'));
  if (file === undefined) throw notFound();
  const headers: Headers = {
    'Content-Type': file.type,
    'Cache-Control': 'public, max-age=31536000, immutable',
    Vary: 'Accept-Encoding',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
  const encoding = codingOf(exchange.header('accept-encoding'));
  const plain = encoding === null ? await promisify(gunzip)(file.gzip) : null;
  if (exchange.aborted) return;
  if (plain !== null) exchange.send(200, headers, plain);
  else {
    const body = encoding === 'br' ? file.brotli : file.gzip;
    exchange.send(200, { ...headers, 'Content-Encoding': encoding ?? '' }, body);
  }
}

function codingOf(accepted: string): 'br' | 'gzip' | null {
  return accepted === '' ? null : negotiate(accepted, ['br', 'gzip']);
}
