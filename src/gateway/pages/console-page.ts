/** Owns what the page of a console shows: a bar that says how it stands, and the terminal of xterm.js. */
import { iconUrl, html } from './page.ts';
import type { Html } from './page.ts';

export const consolePath = '/console';

/** What a console is opened in, as the page names it. */
export interface ConsolePlace {
  kind: 'app' | 'database';
  id: string;
  name: string;
  /** Chosen in the address; '' for the default. */
  container: string;
}

export interface ConsoleAssets {
  /** Addresses, in the order of loading. */
  styles: readonly string[];
  scripts: readonly string[];
  nonce: string;
}

/** Full screen, unlike the other pages; the script makes the terminal. */
export function consolePage(place: ConsolePlace, { styles, scripts, nonce }: ConsoleAssets): Html {
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

/** What there is to open, for who names nothing. */
export function consoleList(places: readonly Omit<ConsolePlace, 'container'>[]): Html {
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
