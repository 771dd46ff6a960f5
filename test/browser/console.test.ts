/** The console in a real browser: a shell under xterm.js, at changing sizes, over a broken network. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, openBrowser } from '../support/browser.ts';
import { cleanups } from '../support/cleanups.ts';
import { archiveOf, owner } from '../support/gangway-client.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

const timeout = 60_000;
const serving = `require('node:http').createServer((_, answer) => answer.end('ok')).listen(process.env.PORT)`;
const offline =
  /^Failed to load resource: net::ERR_(INTERNET_DISCONNECTED|NETWORK_CHANGED)|status of 404/;

describe('the console, in a browser', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let gangway: Gangway;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let complaints: string[];
  let app: AppInfo;
  before(async () => {
    browser = await openBrowser();
    later(() => browser.close());
    gangway = await Gangway.open();
    later(() => gangway.end());
    app = await gangway.client.runningApp(
      'Shell & Co',
      archiveOf({
        Procfile: 'web: node index.js',
        'index.js': serving,
      }),
    );
    context = await browser.newContext({ viewport: { width: 1000, height: 600 } });
    page = await context.newPage();
    page.setDefaultTimeout(timeout);
    complaints = complaintsOf(page, offline);
  });

  /** What the terminal shows, a line each. */
  const shown = async (): Promise<string> => {
    const rows = await page.locator('.xterm-rows > div').allInnerTexts();
    return rows.map((row) => row.replaceAll('\u00a0', ' ').trimEnd()).join('\n');
  };
  const sees = async (what: string | RegExp): Promise<void> => {
    const found = async (): Promise<boolean> => {
      const text = await shown();
      return typeof what === 'string' ? text.includes(what) : what.test(text);
    };
    await until(`${String(what)} on the screen`, timeout, found).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await shown()}`);
    });
  };
  const type = async (text: string): Promise<void> => {
    await page.locator('.xterm-helper-textarea').focus();
    await page.keyboard.type(text);
  };
  const status = (text: string | RegExp): Promise<void> =>
    page.locator('#status').getByText(text).waitFor();

  it('asks for signing in, and leads back', async () => {
    await page.goto(`${gangway.url}/console?app=${app.id}`);
    assert.equal(new URL(page.url()).pathname, '/login');
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${gangway.url}/console?app=${app.id}`);
    await status('Connected');
    assert.equal(await page.getByRole('heading').innerText(), 'Shell & Co');
  });

  it('runs what is typed', async () => {
    await type('PS1="> "; clear; echo sum-$((40+2)) é€😀\n');
    await sees('sum-42 é€😀');
  });

  it('shows colours of any kind', async () => {
    await type(`printf '\\033[38;2;255;0;0mred\\033[0m \\033[32mgreen\\033[0m\\n'\n`);
    await sees('red green');
    const colour = await page
      .locator('.xterm-rows span', { hasText: /^red$/ })
      .evaluate(
        (element: unknown) =>
          (
            globalThis as unknown as { getComputedStyle(of: unknown): { color: string } }
          ).getComputedStyle(element).color,
      );
    assert.equal(colour, 'rgb(255, 0, 0)');
  });

  it('follows the size of the window', async () => {
    await type('clear; stty size\n');
    await sees(/^\d+ \d+$/m);
    const before = /^(\d+) (\d+)$/m.exec(await shown());
    await page.setViewportSize({ width: 1400, height: 900 });
    const grew = async (): Promise<boolean> => {
      await type('clear; stty size\n');
      const after = /^(\d+) (\d+)$/m.exec(await shown());
      return Number(after?.[1]) > Number(before?.[1]) && Number(after?.[2]) > Number(before?.[2]);
    };
    await until('a larger terminal', timeout, grew);
    await page.setViewportSize({ width: 1000, height: 600 });
  });

  it('runs vim at changing sizes', { skip: needs('vim') }, async () => {
    await type('clear; vim -u NONE -c "set nocompatible ruler" note.txt\n');
    await sees(/"note\.txt" \[New/);
    await type('ihello from vim\u001b');
    await sees(/^hello from vim$/m);
    await page.setViewportSize({ width: 700, height: 400 });
    await sees(/^~$/m);
    await page.setViewportSize({ width: 1200, height: 800 });
    await until('as many lines as the window has', timeout, async () => {
      const rows = await page.locator('.xterm-rows > div').count();
      const tildes = (await shown()).split('\n').filter((line) => line === '~').length;
      return tildes === rows - 2;
    });
    await type(':wq\n');
    await sees(/^>$/m);
    await type('clear; cat note.txt\n');
    await sees(/^hello from vim$/m);
  });

  it('runs top at changing sizes', { skip: needs('top') }, async () => {
    await type('clear; top -d 0.5\n');
    await sees(/PID\s+USER/);
    await page.setViewportSize({ width: 800, height: 450 });
    await sees(/load average/);
    await sees(/PID\s+USER/);
    await type('q');
    // What is typed before a program has left the terminal may be dropped by it.
    await sees(/^>$/m);
    await type('clear; echo over-$((1+1))\n');
    await sees('over-2');
  });

  it('comes back to the same shell when the network does', async () => {
    await type('MINE=kept; clear; echo before-$((1+1))\n');
    await sees('before-2');
    await context.setOffline(true);
    await status(/connection is lost/);
    await context.setOffline(false);
    await status('Connected');
    await sees('before-2');
    await type('echo "[$MINE]"\n');
    await sees('[kept]');
  });

  it('comes back to it when the page is loaded again', async () => {
    await page.reload();
    await status('Connected');
    await type('clear; echo "again [$MINE]"\n');
    await sees('again [kept]');
  });

  it('takes a long paste and a flood', async () => {
    await type(`clear; stty -echo; printf 'now''-typing\\n'; wc -c; stty echo\n`);
    // By then the shell has left the terminal to the program.
    await sees('now-typing');
    const long = `${'0123456789'.repeat(10)}\n`.repeat(1000);
    await page.locator('.xterm-helper-textarea').focus();
    await page.evaluate<null, string>((text) => {
      const page = globalThis as unknown as {
        document: { activeElement: { dispatchEvent(event: unknown): void } };
        DataTransfer: new () => { setData(type: string, text: string): void };
        ClipboardEvent: new (type: string, init: object) => unknown;
      };
      const clipboardData = new page.DataTransfer();
      clipboardData.setData('text/plain', text);
      page.document.activeElement.dispatchEvent(
        new page.ClipboardEvent('paste', { clipboardData, bubbles: true }),
      );
      return null;
    }, long);
    await page.keyboard.press('Control+d');
    await sees(/101000\n>$/m);
    await type('clear; seq 1 200000; echo flood-$((1+1))\n');
    await sees('flood-2');
    await sees('200000');
  });

  it('says that it ended, and opens another one', async () => {
    await type('exit\n');
    await status('Ended.');
    await page.getByRole('button', { name: 'New console' }).click();
    await status('Connected');
    await type('echo "new [$MINE]"\n');
    await sees('new []');
    await page.getByRole('button', { name: 'End' }).click();
    await status('Ended.');
  });

  it('lists what there is, and says why there is none', async () => {
    await page.goto(`${gangway.url}/console`);
    await page.getByRole('link', { name: 'Shell & Co' }).click();
    await page.waitForURL(`${gangway.url}/console?app=${app.id}`);
    await status('Connected');
    await page.goto(`${gangway.url}/console?app=app_none`);
    await page.getByText('No such app.').waitFor();
    assert.deepEqual(complaints, []);
  });
});
