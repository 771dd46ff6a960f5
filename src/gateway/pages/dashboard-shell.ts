/** Owns the page around the dashboard: its scripts and its style, and nothing that depends on who asks. */
import { createHash } from 'node:crypto';
import type { DashboardManifest } from '../../protocol/dashboard-build.ts';
import { html, iconUrl } from './page.ts';

export const assetsPath = '/assets';

export interface Shell {
  readonly body: Buffer;
  readonly etag: string;
}

/**
 * `page`: its place in the manifest, whose scripts the browser fetches at once with those of the entry; none for an
 * unknown path. A browser would learn of what is imported only once it has read the scripts that import it.
 */
export function shellOf({ entry, pages }: DashboardManifest, page: number | null): Shell {
  const scripts = [...entry.imports, ...(page === null ? [] : (pages[page]?.scripts ?? []))];
  const { text } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Gangway</title>
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="${iconUrl}" />
        <script src="${assetsPath}/${entry.theme}"></script>
        <link rel="stylesheet" href="${assetsPath}/${entry.style}" />
        <script type="module" src="${assetsPath}/${entry.script}"></script>
        ${scripts.map((name) => html`<link rel="modulepreload" href="${assetsPath}/${name}" />`)}
      </head>
      <body>
        <div id="root"><noscript>The dashboard needs JavaScript.</noscript></div>
      </body>
    </html> `;
  const body = Buffer.from(text);
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

/** Nothing but our own files, and no requests to anywhere else; forms may lead on to `targets`. */
export function dashboardPolicy(targets: readonly string[]): string {
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `connect-src 'self'`,
    `img-src 'self' data:`,
    `font-src 'self'`,
    `form-action ${["'self'", ...targets].join(' ')}`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');
}

/** Whether a path is a page's, by its pattern: `:name`, `:name?` at the end, and `*` for all that follows. */
export function pathPattern(pattern: string): RegExp {
  const parts = pattern.split('/').slice(1);
  const text = parts.map((part) => {
    if (part === '*') return '(?:/.*)?';
    if (!part.startsWith(':')) return `/${part.replace(/[^\w-]/g, '\\$&')}`;
    return part.endsWith('?') ? '(?:/[^/]+)?' : '/[^/]+';
  });
  return new RegExp(`^${text.join('')}/?$`);
}
