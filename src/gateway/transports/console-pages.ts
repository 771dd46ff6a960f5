/**
 * Owns the page on which people use consoles, and its files: xterm.js and our own.
 *
 * 1. The page is for people. A visitor who is not signed in is led to the sign-in page and back; a token is
 *    refused. The page says in words what the caller does not see, or may not open.
 * 2. Nothing comes from elsewhere. The policy allows only the scripts and styles of this page, and the
 *    style attributes with which the terminal colours its text.
 */
import { randomBytes } from 'node:crypto';
import { assertContainer } from '../../actors/workload/console-programs.ts';
import { authorize, can, seenNodes } from '../../auth/rights/authorize.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Exchange, Route } from '../transport.ts';
import { type Callers, type Person, personAt } from '../credentials.ts';
import { Assets, digestedAsset, ownAsset } from '../pages/assets.ts';
import { asAsked, loginFor } from '../pages/form.ts';
import { type Html, html, iconUrl, redirect, scriptPageHeaders, sendPage } from '../pages/page.ts';
import { type AppOrDatabase, resourceAt } from '../resources.ts';
import { consoleCapability } from './attach.ts';

export interface ConsolePagesOptions {
  reader: Reader;
  callers: Pick<Callers, 'either'>;
}

export const consolePath = '/console';
const listedMax = 200;

export function consolePageRoutes(options: ConsolePagesOptions): Route[] {
  const pages = new ConsolePages(options);
  return [
    { method: 'GET', path: consolePath, handle: (exchange) => pages.show(exchange) },
    pages.assets.route,
  ];
}

class ConsolePages {
  readonly #options: ConsolePagesOptions;
  readonly assets = new Assets(`${consolePath}/assets`, () =>
    Promise.all([
      digestedAsset('xterm', '@xterm/xterm', 'css/xterm.css'),
      ownAsset('console', 'console-page.css'),
      digestedAsset('xterm', '@xterm/xterm', 'lib/xterm.js'),
      digestedAsset('xterm-fit', '@xterm/addon-fit', 'lib/addon-fit.js'),
      ownAsset('console', 'console-client.js'),
    ]),
  );

  constructor(options: ConsolePagesOptions) {
    this.#options = options;
  }

  async show(exchange: Exchange): Promise<void> {
    const person = personAt(exchange, this.#options.callers);
    if (person === null) {
      redirect(exchange, loginFor(asAsked(consolePath, exchange)));
      return;
    }
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
    const styles = await this.assets.addresses('.css');
    const scripts = await this.assets.addresses('.js');
    if (exchange.aborted) return;
    const nonce = randomBytes(16).toString('base64');
    const page = consolePage(place, { styles, scripts, nonce });
    const policy = [
      `style-src 'self' 'nonce-${nonce}'`,
      `style-src-attr 'unsafe-inline'`,
      `img-src data:`,
    ];
    exchange.send(200, scriptPageHeaders(nonce, policy, 'same-origin'), page.text);
  }

  /** Null when the query names none. */
  #place(person: Person, query: URLSearchParams): ConsolePlace | null {
    const { reader } = this.#options;
    const kind = query.has('app') ? 'app' : 'database';
    const id = query.get(kind);
    if (id === null) return null;
    const container = query.get('container') ?? '';
    const resource = resourceAt(reader, kind, id);
    authorize(reader, person, consoleCapability[kind], resource);
    if (kind === 'app') assertContainer(reader, { kind, id }, container);
    const { name } = resource.kind === 'app' ? resource.app : resource.database;
    return { kind, id, name, container };
  }

  /** The running apps and databases of the acting team that the person may look into. */
  #places(person: Person): Omit<ConsolePlace, 'container'>[] {
    const { reader } = this.#options;
    const { teamId } = person;
    if (teamId === null) return [];
    const may = (resource: AppOrDatabase): boolean =>
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
}

/** The app or database of a console, as the page names it. */
interface ConsolePlace {
  kind: 'app' | 'database';
  id: string;
  name: string;
  /** The container named in the address; '' for the default. */
  container: string;
}

interface ConsoleAssets {
  /** Addresses, in the order of loading. */
  styles: readonly string[];
  scripts: readonly string[];
  nonce: string;
}

/** Full screen, unlike the other pages. The script makes the terminal. */
function consolePage(place: ConsolePlace, { styles, scripts, nonce }: ConsoleAssets): Html {
  const kind = place.kind === 'app' ? 'apps' : 'databases';
  const attach = `/api/${kind}/${encodeURIComponent(place.id)}/attach`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${place.name} · Console · Gangway</title>
        <link rel="icon" href="${iconUrl}" />
        ${styles.map((href) => html`<link rel="stylesheet" href="${href}" />`)}
        ${scripts.map((src) => html`<script nonce="${nonce}" defer src="${src}"></script>`)}
      </head>
      <body>
        <header>
          <h1>${place.name}</h1>
          <p role="status" id="status">Connecting…</p>
          <button type="button" id="again" hidden>New console</button>
          <button type="button" id="end" hidden>End</button>
        </header>
        <main id="terminal" data-attach="${attach}" data-container="${place.container}">
          <noscript>The console needs JavaScript.</noscript>
        </main>
      </body>
    </html> `;
}

/** The list of what the person can open, when the address names nothing. */
function consoleList(places: readonly Omit<ConsolePlace, 'container'>[]): Html {
  const links = places.map(
    ({ kind, id, name }) =>
      html`<a class="plain" href="${consolePath}?${kind}=${encodeURIComponent(id)}"
        >${name}${kind === 'database' ? ' (database)' : ''}</a
      >`,
  );
  return html`<h1>Consoles</h1>
    <p>
      ${links.length === 0 ? 'Nothing runs here that you may open a console in.' : 'Open one in:'}
    </p>
    ${links}`;
}
