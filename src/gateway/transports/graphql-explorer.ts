/**
 * Owns the GraphQL explorer: GraphiQL, from our own files.
 *
 * 1. Nothing comes from elsewhere. The policy allows only the scripts and styles of this page, by nonce.
 * 2. GET does not run queries, because other sites can make a browser send a GET.
 */
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../lib/errors.ts';
import { negotiate } from '../http/accept.ts';
import type { Exchange, Route } from '../transport.ts';
import type { Callers } from '../credentials.ts';
import { Assets, ownAsset, versionedAsset } from '../pages/assets.ts';
import { iconUrl, scriptPageHeaders } from '../pages/page.ts';

/**
 * The hash of a style element. With it GraphiQL's dialogs and menus keep the page behind them from
 * scrolling. The library could give the element a nonce, but GraphiQL's bundle offers no way to set it. The
 * text is always the same while the page itself has no scroll bar.
 */
const scrollLockHash = 'sha256-Y/huXlwoYkVyQlxwSVcCi1RCDGDCSVBzDt0hYP9qlTc=';

export interface ExplorerRoutesOptions {
  callers: Pick<Callers, 'either'>;
}

export function explorerRoutes({ callers }: ExplorerRoutesOptions): Route[] {
  const assets = new Assets('/api/graphql/assets', () =>
    Promise.all([
      versionedAsset('graphiql', 'graphiql.min.css'),
      versionedAsset('react', 'umd/react.production.min.js'),
      versionedAsset('react-dom', 'umd/react-dom.production.min.js'),
      versionedAsset('graphiql', 'graphiql.min.js'),
      ownAsset('explorer', 'explorer-client.js'),
    ]),
  );
  const handle = (exchange: Exchange): Promise<void> => explore(exchange, callers, assets);
  return [{ method: 'GET', path: '/api/graphql', handle }, assets.route];
}

async function explore(
  exchange: Exchange,
  callers: Pick<Callers, 'either'>,
  assets: Assets,
): Promise<void> {
  if (negotiate(exchange.header('accept') || '*/*', ['text/html']) === null) {
    throw new ServiceError(
      'NOT_ACCEPTABLE',
      'GET serves the explorer, as text/html; send GraphQL requests by POST.',
    );
  }
  const [styles, scripts] = [await assets.addresses('.css'), await assets.addresses('.js')];
  const nonce = randomBytes(16).toString('base64');
  const { kind } = callers.either(exchange, { changes: false });
  const account = kind === 'person' ? 'Account' : 'Sign in';
  const headers = scriptPageHeaders(nonce, policyWith(nonce), 'no-referrer');
  exchange.send(200, headers, pageText({ styles, scripts, nonce, account }));
}

function policyWith(nonce: string): string[] {
  return [
    `style-src 'self' 'nonce-${nonce}' '${scrollLockHash}'`,
    `img-src 'self' data:`,
    `font-src 'self' data:`,
  ];
}

interface ExplorerPage {
  /** Addresses, in the order of loading. */
  styles: readonly string[];
  scripts: readonly string[];
  nonce: string;
  account: string;
}

function pageText({ styles, scripts, nonce, account }: ExplorerPage): string {
  const tags = [
    ...styles.map((href) => `<link rel="stylesheet" href="${href}" />`),
    ...scripts.map((src) => `<script nonce="${nonce}" defer src="${src}"></script>`),
  ];
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>GraphQL · Gangway</title>
    <link rel="icon" href="${iconUrl}" />
    ${tags.join('\n    ')}
    <style nonce="${nonce}">
      html, body, #explorer { height: 100%; margin: 0; }
      #explorer { min-width: 48rem; }
      .graphiql-container a.account { color: inherit; font-size: 1rem; font-weight: 500; }
      .graphiql-container a.account + a.account { margin-left: 0.75rem; }
    </style>
  </head>
  <body>
    <div id="explorer" data-account="${account}">The explorer needs JavaScript.</div>
  </body>
</html>
`;
}
