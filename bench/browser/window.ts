/** Owns one page of a real Chromium under test: opened with nothing cached, and measured from inside and out. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { programPath } from '../../test/support/programs.ts';
import { openBrowser } from '../../test/support/browser.ts';
import { watching } from './watching.ts';

const openMs = 60_000;

export interface WindowOptions {
  url: string;
  /** `Cookie` header of who is signed in. */
  cookie: string;
  /** How many times slower than this machine its scripts run; default 1. */
  slowness?: number;
}

/** Throws where none is installed. */
export async function startChromium(): Promise<Browser> {
  if (programPath('chromium') === undefined) {
    throw new Error('no Chromium is installed: npm run setup:tests says how to get one');
  }
  return await openBrowser();
}

/** A profile of its own, with one tab, whose cache is empty. */
export class Window {
  readonly page: Page;
  readonly #cdp: CDPSession;
  /** What came over the wire, with heads: in bytes, by the id of the request. */
  readonly #scripts = new Map<string, number>();

  private constructor(page: Page, cdp: CDPSession) {
    this.page = page;
    this.#cdp = cdp;
    const scripts = new Set<string>();
    cdp.on('Network.responseReceived', ({ requestId, type }) => {
      if (type === 'Script') scripts.add(requestId);
    });
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (scripts.has(requestId)) this.#scripts.set(requestId, encodedDataLength);
    });
  }

  static async open(
    browser: Browser,
    { url, cookie, slowness = 1 }: WindowOptions,
  ): Promise<Window> {
    const context = await browser.newContext({
      baseURL: url,
      viewport: { width: 1440, height: 900 },
    });
    const [name = '', ...value] = cookie.split('=');
    await context.addCookies([{ name, value: value.join('='), url, httpOnly: true }]);
    const page = await context.newPage();
    page.setDefaultTimeout(openMs);
    await page.addInitScript(watching);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.enable');
    await cdp.send('Performance.enable');
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: slowness });
    return new Window(page, cdp);
  }

  /**
   * Milliseconds from the begin of the navigation until what the selector names stands painted and the page has nothing
   * left to do for it.
   */
  async usableMs(path: string, selector: string): Promise<number> {
    await this.page.goto(path, { waitUntil: 'commit' });
    return await this.page.evaluate<number>(`watching.usable(${JSON.stringify(selector)})`);
  }

  /** Compressed, as they came over the wire. */
  scriptBytes(): number {
    return [...this.#scripts.values()].reduce((total, bytes) => total + bytes, 0);
  }

  async heapBytes(): Promise<number> {
    const { metrics } = await this.#cdp.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

/** What the processes that draw pages hold for themselves alone, in bytes; of this browser, all of them together. */
export async function renderersBytes(browser: Browser): Promise<number> {
  const cdp = await browser.newBrowserCDPSession();
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  await cdp.detach();
  const renderers = processInfo.filter(({ type }) => type === 'renderer');
  return renderers.reduce((total, { id }) => total + privateBytes(id), 0);
}

function privateBytes(pid: number): number {
  if (!readdirSync('/proc').includes(String(pid))) return 0;
  const text = readFileSync(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
  const kilobytes = [...text.matchAll(/^Private_\w+: +(\d+) kB$/gm)].map(([, kB]) => Number(kB));
  return 1024 * kilobytes.reduce((total, kB) => total + kB, 0);
}
