/**
 * Owns the look of pages that are rendered here: plain HTML and one style sheet in the page, no
 * script, nothing from elsewhere.
 *
 * 1. Values come in through the `html` tag and are escaped; only another `html` result is not.
 * 2. The Content-Security-Policy allows the page's own style, by hash, and nothing else.
 */
import { createHash } from 'node:crypto';
import type { Exchange } from '../contract.ts';

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
:root { color-scheme: light dark; --ink: #16202c; --paper: #f5f6f8; --card: #fff; --line: #d4d9e0;
  --strong: #0b5fff; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --paper: #0f141b; --card: #182029;
  --line: #303b48; --strong: #6ea0ff; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 26rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem; padding: 2rem; }
h1 { margin: 0 0 .25rem; font-size: 1.375rem; }
p { margin: 0 0 1.25rem; }
label { display: block; margin-bottom: 1rem; font-weight: 600; }
small { display: block; font-weight: 400; opacity: .75; }
input { display: block; width: 100%; margin-top: .25rem; padding: .625rem .75rem; font: inherit;
  color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .5rem; }
input:focus-visible, button:focus-visible { outline: 2px solid var(--strong); outline-offset: 2px; }
button { width: 100%; padding: .75rem; font: inherit; font-weight: 600; color: var(--card);
  background: var(--strong); border: 0; border-radius: .5rem; cursor: pointer; }
[role=alert] { color: var(--bad); font-weight: 600; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; ` +
    `base-uri 'none'; frame-ancestors 'none'`,
  'Referrer-Policy': 'no-referrer',
};

/** Answers with a page around `body`. */
export function sendPage(exchange: Exchange, status: number, title: string, body: Html): void {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Gangway</title>
        <style>
          ${new Html(style)}
        </style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `;
  exchange.send(status, headers, page.text);
}

/** Answers with a redirect that turns a POST into a GET. */
export function redirect(exchange: Exchange, to: string): void {
  exchange.send(303, { Location: to, 'Cache-Control': 'no-store' }, '');
}
