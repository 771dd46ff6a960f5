import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { avatarRoute } from '../../../../src/gateway/transports/avatar.ts';
import { RateLimit } from '../../../../src/lib/rate-limit.ts';
import { Avatars } from '../../../../src/workers/avatars/avatars.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';
import { cleanups } from '../../../support/cleanups.ts';

// prettier-ignore
const styles = [
  'shapes', 'initials', 'identicon', 'thumbs', 'rings', 'glass', 'planets', 'pixel-art', 'critters',
];
const presets = ['default', 'circle', 'rounded', 'soft'];

describe('GET /api/avatar/:style/:preset/:seed', () => {
  const cleanup = cleanups();
  let gateway: TestGateway;
  let other: TestGateway;
  const start = async (burst: number): Promise<TestGateway> => {
    const avatars = new Avatars();
    cleanup(() => avatars.close());
    const limit = new RateLimit({ burst, windowMs: 60_000 });
    const started = await startGateway([avatarRoute({ avatars, limit })]);
    cleanup(() => started.close());
    return started;
  };
  before(async () => {
    gateway = await start(1_000);
    other = await start(2);
  });

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${gateway.url}/api/avatar/${path}`, { headers });

  it('draws every style with every preset, each another picture', async () => {
    const pictures = new Set<string>();
    for (const style of styles) {
      for (const preset of presets) {
        const answer = await get(`${style}/${preset}/ann`);
        assert.equal(answer.status, 200, `${style}/${preset}`);
        const svg = await answer.text();
        assert.match(svg, /^<svg [\s\S]*<\/svg>$/);
        assert.doesNotMatch(svg, /<script|\son\w+=|(?:href|src)="(?!#)|url\((?!#)/i);
        pictures.add(svg);
      }
    }
    assert.equal(pictures.size, styles.length * presets.length);
  });

  it('sends an SVG that runs nothing, and is kept for ever', async () => {
    const { headers } = await get('rings/default/ann');
    assert.equal(headers.get('content-type'), 'image/svg+xml');
    assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; style-src 'unsafe-inline'",
    );
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.match(headers.get('etag') ?? '', /^"[\w-]{22}"$/);
  });

  it('draws the same again elsewhere, byte for byte', async () => {
    const here = await get('thumbs/soft/ann');
    const there = await fetch(`${other.url}/api/avatar/thumbs/soft/ann`);
    assert.equal(await here.text(), await there.text());
    assert.equal(here.headers.get('etag'), there.headers.get('etag'));
  });

  it('answers 304 to who has it, and HEAD without a body', async () => {
    const etag = (await get('rings/default/ann')).headers.get('etag') ?? '';
    const again = await get('rings/default/ann', { 'if-none-match': `"x", W/${etag}` });
    assert.equal(again.status, 304);
    assert.equal(again.headers.get('etag'), etag);
    assert.equal(await again.text(), '');
    const different = await get('rings/default/bob', { 'if-none-match': etag });
    assert.equal(different.status, 200);
    const head = await fetch(`${gateway.url}/api/avatar/rings/default/ann`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('etag'), etag);
  });

  it('knows no other style and no other preset', async () => {
    for (const path of [
      'none/default/a',
      'rings/none/a',
      'constructor/default/a',
      'rings/__proto__/a',
    ])
      assert.equal((await get(path)).status, 404, path);
  });

  it('takes a seed of 128 characters of any kind, and refuses a longer one', async () => {
    assert.equal(
      (await get(`initials/default/${encodeURIComponent('😀'.repeat(128))}`)).status,
      200,
    );
    const longer = await get(`initials/default/${encodeURIComponent('😀'.repeat(129))}`);
    assert.equal(longer.status, 400);
    assert.equal(((await longer.json()) as { code: string }).code, 'BAD_USER_INPUT');
  });

  it('keeps markup in a seed text', async () => {
    for (const seed of ['<b>', '&lt;', '"onload="alert(1)', "'><script>x</script>", '\u202Eabc']) {
      const svg = await (await get(`initials/circle/${encodeURIComponent(seed)}`)).text();
      assert.doesNotMatch(svg, /<b>|<script|onload="/);
    }
  });

  it('limits what a network has drawn, not what is kept', async () => {
    const at = (seed: string): Promise<Response> =>
      fetch(`${other.url}/api/avatar/rings/default/${seed}`);
    for (const seed of ['a', 'b', 'c']) await at(seed);
    const refused = await at('d');
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await fetch(`${other.url}/api/avatar/thumbs/soft/ann`)).status, 200);
  });
});
