/**
 * Owns the look of the pages that are rendered here: plain HTML and one style sheet in the page, nothing
 * from elsewhere. A page works without script; a script only adds to it.
 *
 * 1. The `html` tag escapes every value, except the result of another `html` tag.
 * 2. The Content-Security-Policy allows the page's own styles (by hash), its icon, its one script (by
 *    nonce), and nothing else.
 */
import { createHash } from 'node:crypto';
import type { Exchange, Headers } from '../transport.ts';

/** Markup that may stand in a page as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Slot = string | number | Html | readonly Html[] | null;

export function html(parts: TemplateStringsArray, ...slots: Slot[]): Html {
  const text = slots.reduce<string>(
    (so, slot, i) => so + render(slot) + (parts[i + 1] ?? ''),
    parts[0] ?? '',
  );
  return new Html(text);
}

function render(slot: Slot): string {
  if (slot === null) return '';
  if (slot instanceof Html) return slot.text;
  if (typeof slot === 'object') return slot.map((one) => one.text).join('');
  return String(slot).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

const style = `
:root { color-scheme: light dark; --ink: #14181f; --soft: #515c6b; --paper: #f7f8fa; --card: #fff;
  --field: #fff; --line: #c6ccd5; --edge: #e4e7ec; --wash: #eff1f4; --strong: #2453dc; --fill: #2b5be3;
  --fill-hover: #214bc4; --bad: #a3201a; --bad-dot: #d93025; --bad-paper: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a1abba; --paper: #0b0e14;
  --card: #12161d; --field: #0e1218; --line: #39424f; --edge: #222933; --wash: #1b212b; --strong: #8fb0ff;
  --fill: #3563e9; --fill-hover: #2b55cf; --bad: #ffb4ab; --bad-dot: #f2685c; --bad-paper: #371a1a; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; min-height: 100svh; display: grid; align-items: center;
  justify-items: center; padding: 1.5rem 1rem; background: var(--paper); color: var(--ink);
  font: .9375rem/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  -webkit-font-smoothing: antialiased; }
main { width: 100%; max-width: 25rem; background: var(--card); border: 1px solid var(--edge);
  border-radius: .75rem; padding: 2rem; box-shadow: 0 1px 2px #14181f0f; }
header { display: flex; align-items: center; gap: .5rem; margin-bottom: 1.75rem; font-weight: 650; }
header svg { width: 1.5rem; height: 1.5rem; color: var(--strong); }
h1 { margin: 0; font-size: 1.375rem; line-height: 1.3; font-weight: 650; letter-spacing: -.01em; }
p { margin: .25rem 0 0; color: var(--soft); overflow-wrap: anywhere; }
form, p + a { margin-top: 1.5rem; }
b { color: var(--ink); }
label { display: block; margin-bottom: 1.125rem; font-size: .875rem; font-weight: 550; }
small { display: block; margin-top: .375rem; font-size: .8125rem; font-weight: 400;
  color: var(--soft); }
input { display: block; width: 100%; min-height: 2.5rem; margin-top: .375rem; padding: .5rem .75rem;
  font: inherit; font-size: 1rem;
  font-weight: 400; color: inherit; background: var(--field); border: 1px solid var(--line);
  border-radius: .5rem; }
button, a { display: block; width: 100%; min-height: 2.5rem; padding: .5625rem .875rem; font: inherit;
  font-size: .875rem; font-weight: 550; text-align: center; text-decoration: none; color: #fff;
  background: var(--fill);
  border: 1px solid transparent; border-radius: .5rem; cursor: pointer; }
button:hover, a:hover { background: var(--fill-hover); }
button, a, input { transition: background 120ms ease-out, border-color 120ms ease-out; }
input:hover { border-color: var(--soft); }
@media (prefers-reduced-motion: reduce) { button, a, input { transition: none; } }
label + button { margin-top: 1.5rem; }
a + form { margin-top: .75rem; }
a + form button { color: inherit; background: none; border-color: var(--line); }
a + form button:hover { background: var(--wash); }
form + a, form + a + a { margin-top: .75rem; color: inherit; background: none;
  border-color: var(--line); }
form + a:hover, form + a + a:hover { background: var(--wash); }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--strong);
  outline-offset: 2px; }
fieldset { margin: 1.25rem 0; padding: 0; border: 0; }
legend { padding: 0; margin-bottom: .75rem; font-size: .875rem; font-weight: 550; }
label:has(input[type=checkbox]) { display: flex; gap: .625rem; align-items: baseline;
  margin-bottom: .375rem; font-weight: 400; }
input[type=checkbox] { width: 1rem; height: 1rem; min-height: 0; margin: 0; accent-color: var(--fill); }
select { display: block; width: 100%; min-height: 2.5rem; margin-top: .375rem; padding: .5rem .75rem;
  font: inherit; font-size: 1rem;
  font-weight: 400; color: inherit; background: var(--field); border: 1px solid var(--line);
  border-radius: .5rem; }
button.plain, a.plain { margin-top: .75rem; color: inherit; background: none;
  border-color: var(--line); }
button.plain:hover, a.plain:hover { background: var(--wash); }
p[role=alert] { margin-top: 1rem; padding: .75rem 1rem; font-size: .875rem; color: var(--bad);
  background: var(--bad-paper); border: 1px solid var(--bad-dot); border-radius: .5rem; }
img { display: block; width: 13rem; max-width: 100%; margin: 1.25rem auto; border-radius: .5rem; }
code { font: .9375rem/1.5 ui-monospace, monospace; color: var(--ink); overflow-wrap: anywhere; }
ul { margin: .75rem 0 0; padding: 0; list-style: none; columns: 2; }
a.plain + p { margin-top: 1.5rem; }
@media (max-width: 30rem) { main { padding: 1.5rem 1.25rem; } }
`;

/** A style sheet inside a page, and the source expression that allows it. */
export interface PageStyle {
  readonly tag: Html;
  /** As in the policy: `'sha256-…'`. */
  readonly source: string;
}

export function pageStyle(css: string): PageStyle {
  const hash = createHash('sha256').update(css).digest('base64');
  // The tag is one piece, because white space inside it would be part of the hash.
  return { tag: new Html(`<style>${css}</style>`), source: `'sha256-${hash}'` };
}

/** What one page has besides what all pages have. */
export interface PageExtras {
  style: PageStyle;
  /** A file of ours. It may send requests to this origin only. */
  script: { src: string; nonce: string };
}

const commonStyle = pageStyle(style);

const gate = '<path d="M4 21V10a8 8 0 0 1 16 0v11M9 21v-9a3 3 0 0 1 6 0v9M2 21h20"/>';
const drawn =
  'viewBox="0 0 24 24" fill="none" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"';
const mark = new Html(`<svg ${drawn} stroke="currentColor" aria-hidden="true">${gate}</svg>`);
const icon = `<svg xmlns="http://www.w3.org/2000/svg" ${drawn} stroke="#4c8dff">${gate}</svg>`;

/** The icon of every page of ours. */
export const iconUrl = `data:image/svg+xml,${encodeURIComponent(icon)}`;

/** The policy of a page whose forms may lead on to `targets` as well. */
export function pagePolicy(targets: readonly string[] = [], extras?: PageExtras): string {
  const forms = ["'self'", ...targets].join(' ');
  const styles = [commonStyle.source, ...(extras ? [extras.style.source] : [])].join(' ');
  const script = extras ? `script-src 'nonce-${extras.script.nonce}'; connect-src 'self'; ` : '';
  return (
    `default-src 'none'; style-src ${styles}; ${script}img-src data:; form-action ${forms}; ` +
    `base-uri 'none'; frame-ancestors 'none'`
  );
}

const plainPolicy = pagePolicy();

const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  // For browsers that do not know `frame-ancestors`.
  'X-Frame-Options': 'DENY',
  // With no-referrer a browser would send the forms here with "Origin: null". With plain http, nothing else
  // would tell our forms from another site's.
  'Referrer-Policy': 'same-origin',
};

/** Answers with a page around `body`. */
export function sendPage(
  exchange: Exchange,
  status: number,
  title: string,
  body: Html,
  further: Headers = {},
  extras?: PageExtras,
): void {
  const policy = extras ? pagePolicy([], extras) : plainPolicy;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Gangway</title>
        <link rel="icon" href="${iconUrl}" />
        ${commonStyle.tag} ${extras?.style.tag ?? null} ${extras ? scriptTag(extras) : null}
      </head>
      <body>
        <main>
          <header>${mark} Gangway</header>
          ${body}
        </main>
      </body>
    </html> `;
  exchange.send(status, { ...headers, 'Content-Security-Policy': policy, ...further }, page.text);
}

function scriptTag({ script }: PageExtras): Html {
  return html`<script nonce="${script.nonce}" defer src="${script.src}"></script>`;
}

/**
 * The headers of a page that consists of scripts, which its nonce allows. The page sends requests to this
 * origin only, and has no forms. `policy`: what else it may load; `referrer`: its Referrer-Policy.
 */
export function scriptPageHeaders(
  nonce: string,
  policy: readonly string[],
  referrer: string,
): Headers {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': [
      `default-src 'none'`,
      `script-src 'nonce-${nonce}'`,
      ...policy,
      `connect-src 'self'`,
      `base-uri 'none'`,
      `form-action 'none'`,
      `frame-ancestors 'none'`,
    ].join('; '),
    'Referrer-Policy': referrer,
  };
}

/** Answers with a redirect that turns a POST into a GET, and sets cookies. */
export function redirect(exchange: Exchange, to: string, cookies: readonly string[] = []): void {
  for (const cookie of cookies) exchange.addHeader('Set-Cookie', cookie);
  exchange.send(303, { Location: to, 'Cache-Control': 'no-store' }, '');
}
