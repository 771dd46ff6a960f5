/**
 * Owns the page on which people use consoles, and its files: xterm.js and our own.
 *
 * 1. It is for people: who is nobody is led to signing in and back, a token is refused. What the caller does
 *    not see, or may not open, is told in words.
 * 2. Nothing comes from elsewhere. The policy lets only the scripts and styles of this page work; style
 *    attributes, by which the terminal colours its text, are all that is let in besides.
 * 3. The files carry their versions in their names, and never change under them.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { containerNames } from '../../actors/app/running/containers.ts';
import { authorize, can, type Resource, seenNodes } from '../../auth/rights/authorize.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Exchange, Headers, Route } from '../transport.ts';
import type { Callers, Person } from '../credentials.ts';
import { consoleList, consolePage, consolePath } from '../pages/console-page.ts';
import type { ConsolePlace } from '../pages/console-page.ts';
import { html, redirect, sendPage } from '../pages/page.ts';
import { consoleCapability } from './attach.ts';

export interface ConsolePagesOptions {
  reader: Reader;
  callers: Pick<Callers, 'either'>;
}

interface Asset {
  type: string;
  plain: Buffer;
  gzipped: Buffer;
}

const scriptType = 'text/javascript; charset=utf-8';
const styleType = 'text/css; charset=utf-8';
const assetsPath = `${consolePath}/assets`;
const listedMax = 200;

export function consolePageRoutes(options: ConsolePagesOptions): Route[] {
  const pages = new ConsolePages(options);
  return [
    { method: 'GET', path: consolePath, handle: (exchange) => pages.show(exchange) },
    { method: 'GET', path: `${assetsPath}/:file`, handle: (exchange) => pages.asset(exchange) },
  ];
}

class ConsolePages {
  readonly #options: ConsolePagesOptions;
  // Read when first asked for: most instances are never looked into this way.
  #assets: Promise<Map<string, Asset>> | null = null;

  constructor(options: ConsolePagesOptions) {
    this.#options = options;
  }

  async show(exchange: Exchange): Promise<void> {
    const person = this.#person(exchange);
    if (person === null) return;
    let place: ConsolePlace | null;
    try {
      place = this.#place(person, exchange.query);
    } catch (error) {
      const { status, message } = asServiceError(error);
      if (!(error instanceof ServiceError)) throw error;
      const said = html`<h1>No console</h1>
        <p role="alert">${message}</p>
        <a href="${consolePath}" class="plain">All consoles</a>`;
      sendPage(exchange, status, 'Console', said);
      return;
    }
    if (place === null) {
      sendPage(exchange, 200, 'Consoles', consoleList(this.#places(person)));
      return;
    }
    const names = [...(await this.#all()).keys()].map((name) => `${assetsPath}/${name}`);
    if (exchange.aborted) return;
    const nonce = randomBytes(16).toString('base64');
    const styles = names.filter((name) => name.endsWith('.css'));
    const scripts = names.filter((name) => name.endsWith('.js'));
    const page = consolePage(place, { styles, scripts, nonce });
    exchange.send(200, pageHeaders(nonce), page.text);
  }

  async asset(exchange: Exchange): Promise<void> {
    const asset = (await this.#all()).get(exchange.param('file'));
    if (!asset) throw new ServiceError('NOT_FOUND', 'There is nothing at this address.');
    if (exchange.aborted) return;
    const headers: Headers = {
      'Content-Type': asset.type,
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
    };
    const takesGzip = /\bgzip\b(?!;q=0(\.0*)?(,|$))/.test(exchange.header('accept-encoding'));
    if (takesGzip) exchange.send(200, { ...headers, 'Content-Encoding': 'gzip' }, asset.gzipped);
    else exchange.send(200, headers, asset.plain);
  }

  /** Null: who is nobody was led to signing in. */
  #person(exchange: Exchange): Person | null {
    const principal = this.#options.callers.either(exchange, { changes: false });
    if (principal.kind === 'person') return principal;
    if (principal.kind === 'token') {
      throw new ServiceError('FORBIDDEN', 'An API token cannot do this; sign in.');
    }
    const query = exchange.query.toString();
    const next = query === '' ? consolePath : `${consolePath}?${query}`;
    redirect(exchange, `/login?next=${encodeURIComponent(next)}`);
    return null;
  }

  /** Null when none is named. */
  #place(person: Person, query: URLSearchParams): ConsolePlace | null {
    const { reader } = this.#options;
    const container = query.get('container') ?? '';
    const appId = query.get('app');
    if (appId !== null) {
      const app = reader.get(tables.apps, appId);
      if (app === undefined) throw new ServiceError('NOT_FOUND', 'No such app.');
      this.#assertMay(person, { kind: 'app', app });
      if (container !== '' && !containerNames(reader, app).includes(container)) {
        throw new ServiceError('NO_SUCH_CONTAINER', 'There is no container of this name.');
      }
      return { kind: 'app', id: app.id, name: app.name, container };
    }
    const databaseId = query.get('database');
    if (databaseId === null) return null;
    const database = reader.get(tables.databases, databaseId);
    if (database === undefined) throw new ServiceError('NOT_FOUND', 'No such database.');
    this.#assertMay(person, { kind: 'database', database });
    return { kind: 'database', id: database.id, name: database.name, container };
  }

  #assertMay(person: Person, resource: Extract<Resource, { kind: 'app' | 'database' }>): void {
    authorize(this.#options.reader, person, consoleCapability[resource.kind], resource);
  }

  /** What runs in the acting team, and may be looked into. */
  #places(person: Person): Omit<ConsolePlace, 'container'>[] {
    const { reader } = this.#options;
    const { teamId } = person;
    if (teamId === null) return [];
    const may = (resource: Extract<Resource, { kind: 'app' | 'database' }>): boolean =>
      can(reader, person, consoleCapability[resource.kind], resource);
    const apps = seenNodes(reader, person, teamId, reader.list(tables.apps, 'team', [teamId]))
      .filter((app) => app.run.live !== null && may({ kind: 'app', app }))
      .map(({ id, name }) => ({ kind: 'app', id, name }) as const);
    const all = reader.list(tables.databases, 'team', [teamId]);
    const databases = seenNodes(reader, person, teamId, all)
      .filter((database) => database.run.live !== null && may({ kind: 'database', database }))
      .map(({ id, name }) => ({ kind: 'database', id, name }) as const);
    return [...apps, ...databases].slice(0, listedMax);
  }

  #all(): Promise<Map<string, Asset>> {
    return (this.#assets ??= loadAssets());
  }
}

/** In the order the page loads them. */
async function loadAssets(): Promise<Map<string, Asset>> {
  const require = createRequire(import.meta.url);
  const found = new Map<string, Asset>();
  const add = async (name: string, type: string, file: string): Promise<void> => {
    const plain = await readFile(file);
    const hash = createHash('sha256').update(plain).digest('hex').slice(0, 12);
    const ending = type === scriptType ? 'js' : 'css';
    const gzipped = await promisify(gzip)(plain);
    found.set(`${name}-${hash}.${ending}`, { type, plain, gzipped });
  };
  const xterm = dirname(require.resolve('@xterm/xterm/package.json'));
  const fit = dirname(require.resolve('@xterm/addon-fit/package.json'));
  const own = (file: string): string => fileURLToPath(new URL(`../pages/${file}`, import.meta.url));
  await add('xterm', styleType, join(xterm, 'css', 'xterm.css'));
  await add('console', styleType, own('console-page.css'));
  await add('xterm', scriptType, join(xterm, 'lib', 'xterm.js'));
  await add('xterm-fit', scriptType, join(fit, 'lib', 'addon-fit.js'));
  await add('console', scriptType, own('console-client.js'));
  return found;
}

function pageHeaders(nonce: string): Headers {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': [
      `default-src 'none'`,
      `script-src 'nonce-${nonce}'`,
      `style-src 'self' 'nonce-${nonce}'`,
      `style-src-attr 'unsafe-inline'`,
      `img-src data:`,
      `connect-src 'self'`,
      `base-uri 'none'`,
      `form-action 'none'`,
      `frame-ancestors 'none'`,
    ].join('; '),
    'Referrer-Policy': 'same-origin',
  };
}
