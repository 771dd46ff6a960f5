/** The log viewer in a real browser: of a long log on disk, and of an app that writes. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tar } from '../support/archives.ts';
import { cleanups } from '../support/cleanups.ts';
import { assertAccessible, type Dashboard, openDashboard } from '../support/dashboard.ts';
import { until } from '../support/eventually.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { needs } from '../support/programs.ts';
import { storeLog } from '../support/stored-logs.ts';

const count = 200_000;
const firstMs = Date.parse('2026-02-03T04:05:06.000Z');
const hostile = [
  '<img src=x onerror="document.title=1"><script>document.title=2</script>',
  '\u202eright to left \u05e9\u05dc\u05d5\u05dd',
  'bell\u0007 null\u0000 \u001b[2J\u001b]0;title\u0007end',
  '\u001b[1;31mred\u001b[0m and plain',
  'long '.repeat(12_000),
];

function* lines() {
  for (let i = 1; i <= count - hostile.length; i++) {
    yield { text: `line ${i} of many`, atMs: firstMs + i * 1_000 };
  }
  for (const text of hostile) yield { text, atMs: firstMs + count * 1_000 };
}

const server = `
let said = 0;
require('http').createServer((req, res) => {
  const many = Number(new URL(req.url, 'http://a').searchParams.get('many') ?? 0);
  for (let i = 0; i < many; i++) console.log('said ' + ++said);
  res.end('ok');
}).listen(process.env.PORT);`;

describe('the log viewer', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let dashboard: Dashboard;
  let stored: AppInfo;
  before(async () => {
    dashboard = await openDashboard();
    later(() => dashboard.end());
    const { client, dataDir } = dashboard.gangway;
    stored = await client.createApp('Long log');
    await storeLog(join(dataDir, 'logs'), `app:${stored.id}`, lines(), { blockLines: 2_000 });
  });

  const row = (offset: number) => dashboard.page.locator(`.log-row[data-offset="${offset}"]`);
  const isShown = (offset: number) => row(offset).waitFor();
  const scroll = (share: number) =>
    dashboard.page.evaluate(`{
      const scroller = document.querySelector('.log-scroll');
      scroller.scrollTop = ${share} * (scroller.scrollHeight - scroller.clientHeight);
    }`);

  it('shows the newest lines, and any other place where its scrollbar is put', async () => {
    const { page, visit, requests } = dashboard;
    requests();
    await visit(`/apps/${stored.id}/log`, 'Long log');
    await isShown(count);
    await page.getByText('Live', { exact: true }).waitFor();
    assert.deepEqual([...new Set(requests())].sort(), ['AppHead', 'AppLog', 'LogLines', 'Session']);
    const newest = page.getByRole('button', { name: 'To the newest line' });
    assert.equal(await newest.count(), 0, 'it is followed');
    await scroll(0.5);
    await isShown(count / 2);
    assert.match(await row(count / 2).innerText(), /line 100000 of many/);
    await scroll(0);
    await isShown(1);
    assert.ok(
      (await page.locator('.log-row').count()) < 100,
      'only what is on the screen is drawn',
    );
    await newest.click();
    await isShown(count);
    await newest.waitFor({ state: 'detached' });
    await assertAccessible(page);
  });

  it('shows any line as text: no markup, no control characters, each in its own direction', async () => {
    const { page } = dashboard;
    const [html, toLeft, bell, red, long] = [5, 4, 3, 2, 1].map((back) => row(count + 1 - back));
    assert.match((await html?.innerText()) ?? '', /<script>document\.title=2<\/script>/);
    assert.equal(await page.title(), 'Log · Long log · Gangway');
    assert.match((await toLeft?.innerText()) ?? '', /right to left/);
    const bidi = `getComputedStyle(document.querySelector('.log-text')).unicodeBidi`;
    assert.equal(await page.evaluate(bidi), 'isolate');
    assert.match((await bell?.innerText()) ?? '', /bell\ufffd null\ufffd end$/);
    assert.equal(await red?.locator('.line-ink-1.line-bold').innerText(), 'red');
    assert.match((await long?.innerText()) ?? '', /… 58,000 more characters$/);
  });

  it('goes where a key leads before the browser scrolls, which a new line would undo', async () => {
    const { page } = dashboard;
    // Of such a key the browser itself takes no notice.
    const press = (key: string) =>
      page.evaluate(`document.querySelector('.log-scroll').dispatchEvent(
        new KeyboardEvent('keydown', { key: ${JSON.stringify(key)}, bubbles: true }))`);
    const newest = page.getByRole('button', { name: 'To the newest line' });
    await press('PageUp');
    await newest.waitFor();
    await press('Home');
    await isShown(1);
    await press('End');
    await isShown(count);
    await newest.waitFor({ state: 'detached' });
  });

  it('finds lines of the whole log, leads to them, and gives a link that does, too', async () => {
    const { page, visit } = dashboard;
    const search = page.getByRole('searchbox', { name: 'Search the whole log' });
    await search.fill('LINE 123');
    await page.getByRole('button', { name: 'Only matches' }).waitFor({ state: 'hidden' });
    await search.press('Enter');
    await page.getByText(/^[\d,]+\+? found$/).waitFor();
    await isShown(123_999);
    assert.equal(await row(123_999).locator('mark').innerText(), 'line 123');
    await page.getByRole('button', { name: 'Older match' }).click();
    await page.locator('.log-row-target[data-offset="123998"]').waitFor();
    await page.getByRole('button', { name: 'Copy a link to this line' }).click();
    const link = page.url();
    assert.match(link, /\?line=\w+%3A123998$/);
    await page.getByRole('button', { name: 'Only matches' }).click();
    assert.equal(await page.locator('.log-match').first().innerText().then((text) => text.includes('line 123999 of many')), true); // prettier-ignore
    await visit(link, 'Long log');
    await page.locator('.log-row-target[data-offset="123998"]').waitFor();
  });

  it('says why an expression cannot be used, and jumps to a time', async () => {
    const { page } = dashboard;
    const search = page.getByRole('searchbox', { name: 'Search the whole log' });
    await page.getByRole('button', { name: 'Regular expression' }).click();
    await search.fill('(a');
    await search.press('Enter');
    await page.getByText('The expression cannot be used: a ( has no ).').waitFor();
    await search.fill('^line 77\\d77 of');
    await search.press('Enter');
    await page.getByText('10 found').waitFor();
    await page.getByRole('button', { name: 'Jump to a time' }).click();
    const at = firstMs + 54_321_000;
    const local = await page.evaluate<string>(
      `new Date(${at} - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 19)`,
    );
    await page.getByLabel('Time to jump to').fill(local);
    await page.getByRole('button', { name: 'Jump', exact: true }).click();
    await page.locator('.log-row-target[data-offset="54321"]').waitFor();
  });

  it('wraps long lines, and saves the newest lines as a file', async () => {
    const { page } = dashboard;
    await page.getByRole('button', { name: 'To the newest line' }).click();
    await isShown(count);
    const choose = async (item: string | RegExp) => {
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    const heightOf = async (offset: number) => (await row(offset).boundingBox())?.height ?? 0;
    assert.equal(await heightOf(count), 20);
    await choose('Wrap long lines');
    await until('the line is wrapped', 10_000, async () => (await heightOf(count)) > 100);
    assert.equal(await page.getByRole('button', { name: 'To the newest line' }).count(), 0);
    await assertAccessible(page);
    await choose(/^Wrap long lines/);
    const saved = page.waitForEvent('download');
    await choose(/^Download/);
    const text = await readFile(await (await saved).path(), 'utf8');
    assert.equal(text.split('\n').length, 100_001);
    assert.match(text, /^2026-02-04T07:51:47\.000Z line 100001 of many\n/);
    assert.ok(!text.includes('\u001b'));
  });

  it('fits onto a phone', async () => {
    const { page } = dashboard;
    await page.setViewportSize({ width: 360, height: 740 });
    await until('nothing is wider than the screen', 10_000, async () => {
      return (await page.evaluate('document.documentElement.scrollWidth')) === 360;
    });
    await assertAccessible(page);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('follows what is written, holds it while paused, and loses nothing', async () => {
    const { gangway, page, visit } = dashboard;
    const { client } = gangway;
    const files = [
      { name: 'Procfile', data: 'web: node server.cjs\n' },
      { name: 'server.cjs', data: server },
    ];
    const archive = gzipSync(tar(...files));
    const app = await client.runningApp('Talker', archive);
    const say = (many: number) => client.visit(app.slug, `/?many=${many}`);
    const isStored = (last: string) =>
      until(`${last} is stored`, 20_000, async () => {
        const { logs } = await client.must<{ logs: { nodes: { text: string }[] } }>(
          `{ logs(appId: "${app.id}", tail: 1) { nodes { text } } }`,
        );
        return logs.nodes[0]?.text === last;
      });
    await visit(`/apps/${app.id}/log`, 'Talker');
    await page.getByText('Live', { exact: true }).waitFor();
    await say(20);
    await page.getByText('said 20', { exact: true }).waitFor();
    await page.getByText(/^Deployed by/).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await say(5_000);
    await isStored('said 5020');
    assert.equal(await page.getByText('said 20', { exact: true }).count(), 1);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('said 5020', { exact: true }).waitFor();
    await scroll(0.5);
    await page
      .getByText(/^said 2[45]\d\d$/)
      .first()
      .waitFor();
  });

  it('breaks no rule of its policy on the way', () => {
    assert.deepEqual(dashboard.complaints, []);
  });
});
