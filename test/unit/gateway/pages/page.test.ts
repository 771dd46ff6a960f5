import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { html, pageStyle, sendPage } from '../../../../src/gateway/pages/page.ts';
import { startGateway } from '../../../support/gateway.ts';
import type { TestGateway } from '../../../support/gateway.ts';

describe('html', () => {
  it('escapes values, and only the markup of another template is not', () => {
    const value = `<b title="a" class='b'>&</b>`;
    assert.equal(
      html`<p title="${value}">${html`<i>${1}</i>`}${null}</p>`.text,
      '<p title="&#60;b title=&#34;a&#34; class=&#39;b&#39;&#62;&#38;&#60;/b&#62;"><i>1</i></p>',
    );
  });
});

describe('sendPage()', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway([
      {
        method: 'GET',
        path: '/page',
        handle: (exchange) =>
          sendPage(exchange, 400, '<Title>', html`<p>here</p>`, { 'Retry-After': '3' }),
      },
      {
        method: 'GET',
        path: '/more',
        handle: (exchange) =>
          sendPage(
            exchange,
            200,
            'More',
            html`<p>here</p>`,
            {},
            {
              style: pageStyle('p { color: red; }'),
              script: { src: '/script.js', nonce: 'bm9uY2U=' },
            },
          ),
      },
    ]);
  });
  after(() => gateway.close());

  it('allows its own style to the byte, and no script', async () => {
    const page = await fetch(`${gateway.url}/page`);
    const policy = page.headers.get('content-security-policy') ?? '';
    const text = await page.text();
    const [, style = ''] = /<style>([^]*?)<\/style>/.exec(text) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    assert.ok(style.length > 500);
    assert.ok(policy.includes(`style-src 'sha256-${hash}';`), policy);
    assert.match(policy, /^default-src 'none';/);
    assert.doesNotMatch(policy, /script-src|unsafe/);
    assert.doesNotMatch(text, /<script|style="|https?:\/\//);
    assert.match(text, /<title>&#60;Title&#62; · Gangway<\/title>/);
    assert.equal(page.headers.get('retry-after'), '3');
    assert.equal(page.status, 400);
  });

  it('allows what one page brings along, and nothing more', async () => {
    const page = await fetch(`${gateway.url}/more`);
    const policy = page.headers.get('content-security-policy') ?? '';
    const text = await page.text();
    const styles = [...text.matchAll(/<style>([^]*?)<\/style>/g)].map(([, style = '']) => style);
    const hashes = styles.map((style) => createHash('sha256').update(style).digest('base64'));
    assert.equal(hashes.length, 2);
    const allowed = hashes.map((hash) => `'sha256-${hash}'`).join(' ');
    assert.ok(policy.includes(`style-src ${allowed};`), policy);
    assert.ok(policy.includes(`script-src 'nonce-bm9uY2U='; connect-src 'self';`), policy);
    assert.match(text, /<script nonce="bm9uY2U=" defer src="\/script\.js">/);
    assert.match(policy, /^default-src 'none';/);
    assert.doesNotMatch(policy, /unsafe/);
  });

  it('lets browsers say that its forms are of this site', async () => {
    const { headers } = await fetch(`${gateway.url}/page`);
    assert.equal(headers.get('referrer-policy'), 'same-origin');
    assert.equal(headers.get('cache-control'), 'no-store');
  });
});
