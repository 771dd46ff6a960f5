/**
 * Owns the GraphQL explorer: GraphiQL, from our own files.
 *
 * 1. Nothing comes from elsewhere. The policy lets only the scripts and styles of this page work, by
 *    nonce.
 * 2. The files carry their versions in their names, and never change under them.
 * 3. GET offers no queries: it is the method that other sites can make a browser use.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ServiceError } from '../../lib/errors.ts';
import { negotiate } from '../http/accept.ts';
import type { Exchange, Headers, Route } from '../transport.ts';
import type { Callers } from '../credentials.ts';
import { iconUrl } from '../pages/page.ts';

interface Asset {
  /** As in the address, with what tells its version. */
  name: string;
  type: string;
  file: string;
}

interface Loaded {
  plain: Buffer;
  gzipped: Buffer;
}

/**
 * The style element by which GraphiQL's dialogs and menus keep the page behind them from scrolling.
 * The library could give it a nonce, but GraphiQL's bundle cannot be told one; its text is always
 * the same where the page itself has no scroll bar.
 */
const scrollLockHash = 'sha256-Y/huXlwoYkVyQlxwSVcCi1RCDGDCSVBzDt0hYP9qlTc=';

const scriptType = 'text/javascript; charset=utf-8';

export interface ExplorerRoutesOptions {
  callers: Pick<Callers, 'either'>;
}

export function explorerRoutes(options: ExplorerRoutesOptions): Route[] {
  const explorer = new Explorer(options);
  return [
    { method: 'GET', path: '/api/graphql', handle: (exchange) => explorer.page(exchange) },
    {
      method: 'GET',
      path: '/api/graphql/assets/:file',
      handle: (exchange) => explorer.asset(exchange),
    },
  ];
}

class Explorer {
  readonly #options: ExplorerRoutesOptions;
  // Both are found when first asked for: most instances are never explored.
  #assets: Promise<Map<string, Asset>> | null = null;
  readonly #loaded = new Map<string, Promise<Loaded>>();

  constructor(options: ExplorerRoutesOptions) {
    this.#options = options;
  }

  async page(exchange: Exchange): Promise<void> {
    if (negotiate(exchange.header('accept') || '*/*', ['text/html']) === null) {
      throw new ServiceError(
        'NOT_ACCEPTABLE',
        'GET serves the explorer, as text/html; send GraphQL requests by POST.',
      );
    }
    const names = [...(await this.#all()).keys()];
    const nonce = randomBytes(16).toString('base64');
    const { kind } = this.#options.callers.either(exchange, { changes: false });
    const account = kind === 'person' ? 'Account' : 'Sign in';
    exchange.send(200, pageHeaders(nonce), pageText(names, nonce, account));
  }

  async asset(exchange: Exchange): Promise<void> {
    const asset = (await this.#all()).get(exchange.param('file'));
    if (!asset) throw new ServiceError('NOT_FOUND', 'There is nothing at this address.');
    let loading = this.#loaded.get(asset.name);
    if (!loading) {
      loading = load(asset.file);
      this.#loaded.set(asset.name, loading);
    }
    const { plain, gzipped } = await loading;
    if (exchange.aborted) return;
    const headers: Headers = {
      'Content-Type': asset.type,
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
    };
    const takesGzip = /\bgzip\b(?!;q=0(\.0*)?(,|$))/.test(exchange.header('accept-encoding'));
    if (takesGzip) exchange.send(200, { ...headers, 'Content-Encoding': 'gzip' }, gzipped);
    else exchange.send(200, headers, plain);
  }

  #all(): Promise<Map<string, Asset>> {
    return (this.#assets ??= findAssets());
  }
}

async function load(file: string): Promise<Loaded> {
  const plain = await readFile(file);
  return { plain, gzipped: await promisify(gzip)(plain) };
}

async function findAssets(): Promise<Map<string, Asset>> {
  const require = createRequire(import.meta.url);
  const found = new Map<string, Asset>();
  const add = async (library: string, path: string, type: string): Promise<void> => {
    const manifest = require.resolve(`${library}/package.json`);
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
    const extension = type === scriptType ? 'js' : 'css';
    const name = `${library}-${version}.${extension}`;
    found.set(name, { name, type, file: join(dirname(manifest), path) });
  };
  await add('graphiql', 'graphiql.min.css', 'text/css; charset=utf-8');
  await add('react', 'umd/react.production.min.js', scriptType);
  await add('react-dom', 'umd/react-dom.production.min.js', scriptType);
  await add('graphiql', 'graphiql.min.js', scriptType);
  const file = fileURLToPath(new URL('../pages/explorer-client.js', import.meta.url));
  const hash = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 12);
  const name = `explorer-${hash}.js`;
  return found.set(name, { name, type: scriptType, file });
}

function pageHeaders(nonce: string): Headers {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': [
      `default-src 'none'`,
      `script-src 'nonce-${nonce}'`,
      `style-src 'self' 'nonce-${nonce}' '${scrollLockHash}'`,
      `img-src 'self' data:`,
      `font-src 'self' data:`,
      `connect-src 'self'`,
      `base-uri 'none'`,
      `form-action 'none'`,
      `frame-ancestors 'none'`,
    ].join('; '),
    'Referrer-Policy': 'no-referrer',
  };
}

function pageText(names: readonly string[], nonce: string, account: string): string {
  const tags = names.map((name) =>
    name.endsWith('.css')
      ? `<link rel="stylesheet" href="/api/graphql/assets/${name}" />`
      : `<script nonce="${nonce}" defer src="/api/graphql/assets/${name}"></script>`,
  );
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
