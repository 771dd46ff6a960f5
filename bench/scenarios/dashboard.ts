/** The dashboard in a real browser: its first view, a log at full speed, and a list of very many apps. */
import type { Browser } from 'playwright-core';
import { renderersBytes, startChromium, Window } from '../browser/window.ts';
import { createUploadApp, deployFiles } from '../deploy.ts';
import { onceOnly } from '../gangway.ts';
import type { Bench, Gangway, Scenario } from '../harness.ts';
import { row } from '../model.ts';
import type { Row } from '../model.ts';
import { seed } from '../seed.ts';

const slowness = 4;
const linesPerSecond = 5_000;
const apps = 10;
/** In a smoke others want the cores as well: what is shown may be late by so much. */
const lateMaxMs = 60_000;

/** As a busy app writes, in even portions. */
const talker = `
const began = process.hrtime.bigint();
let printed = 0;
setInterval(() => {
  const due = Number((process.hrtime.bigint() - began) / 1000n) * (${String(linesPerSecond)} / 1e6);
  let text = '';
  for (; printed < due; printed++) text += '\\x1b[32mINFO\\x1b[0m GET /products/' + printed + ' 200 in 12 ms, as a busy app prints it\\n';
  if (text !== '') process.stdout.write(text);
}, 20);
require('node:http').createServer((request, answer) => answer.end('ok')).listen(process.env.PORT);
`;

export const scenario: Scenario = {
  title: 'the dashboard in Chromium: first view, a log at 5,000 lines a second, 1,000 apps',
  async run(bench) {
    const browser = await startChromium();
    try {
      const gangway = await bench.startGangway({ GANGWAY_LOG_LEVEL: 'warn' });
      for (let i = 0; i < apps; i++) await createUploadApp(gangway, `App ${String(i)}`);
      return [
        ...(await firstView(bench, browser, gangway)),
        ...(await manyApps(bench, browser)),
        ...(await fullLog(bench, browser, gangway)),
      ];
    } finally {
      await browser.close();
    }
  },
};

async function firstView(bench: Bench, browser: Browser, gangway: Gangway): Promise<Row[]> {
  await built(gangway.url, gangway.cookie);
  const kilobytes: number[] = [];
  const ms: number[] = [];
  await bench.eachRound(5, async () => {
    const window = await Window.open(browser, { ...gangway, slowness });
    ms.push(await window.usableMs('/', '.thing'));
    kilobytes.push(window.scriptBytes() / 1000);
    await window.close();
  });
  const group = 'first view of the overview, nothing cached';
  return [
    row({
      ...{ group, what: 'compressed script', unit: 'kB', better: 'lower' },
      rounds: { ours: kilobytes },
      goals: [{ value: 150 }],
      note: 'as it came over the wire, with heads',
    }),
    row({
      ...{ group, what: 'usable, at a quarter of the speed', unit: 'ms', better: 'lower' },
      rounds: { ours: ms },
      goals: [{ value: 1_000 }],
      note: 'the list is painted and the page at rest; browser and server share the machine',
    }),
  ];
}

async function manyApps(bench: Bench, browser: Browser): Promise<Row[]> {
  const count = bench.pick(1_000, 600);
  const seeded = await seed(bench, { apps: count });
  const { url } = await bench.startGangway({
    GANGWAY_DATA_DIR: seeded.dataDir,
    GANGWAY_LOG_LEVEL: 'warn',
  });
  await built(url, seeded.cookie);
  const ms: number[] = [];
  const frames: number[] = [];
  const worst: number[] = [];
  await bench.eachRound(3, async () => {
    const window = await Window.open(browser, { url, cookie: seeded.cookie });
    ms.push(await window.usableMs('/', '.thing'));
    const { page } = window;
    // All are there: the list is as high as so many.
    const rows = `document.querySelector('.things').clientHeight / document.querySelector('.things > li').clientHeight`;
    await page.waitForFunction(`${rows} > ${String(count * 0.9)}`);
    const took = await page.evaluate<number[]>(`watching.scroll(${bench.pick(3_000, 500)}, 240)`);
    frames.push((1000 * took.length) / took.reduce((sum, one) => sum + one, 0));
    worst.push([...took].sort((a, b) => a - b)[Math.floor(took.length * 0.99)] ?? Number.NaN);
    await window.close();
  });
  const group = `list of ${count.toLocaleString('en')} apps`;
  const note = 'a step of four rows each frame';
  return [
    row({
      ...{ group, what: 'usable, nothing cached', unit: 'ms', better: 'lower' },
      rounds: { ours: ms },
      goals: [{ value: 1_000 }],
    }),
    row({
      ...{
        group,
        what: 'frames a second while it is scrolled',
        unit: '/s',
        better: 'higher',
        note,
      },
      rounds: { ours: frames },
      goals: [{ value: 50 }],
    }),
    row({
      ...{ group, what: 'a frame, 99th percentile', unit: 'ms', better: 'lower', note },
      rounds: { ours: worst },
    }),
  ];
}

async function fullLog(bench: Bench, browser: Browser, gangway: Gangway): Promise<Row[]> {
  const appId = await createUploadApp(gangway, 'Talker');
  await deployFiles(bench, gangway, appId, { Procfile: 'web: node app.js\n', 'app.js': talker });
  const longest: number[] = [];
  const heap: number[] = [];
  const held: number[] = [];
  const seconds = bench.pick(10, 2);
  await bench.eachRound(3, async () => {
    const window = await Window.open(browser, gangway);
    const { page } = window;
    await window.usableMs(`/apps/${appId}/log`, '.log-row[data-offset]');
    await page.getByText('Live', { exact: true }).waitFor();
    const before = await linesShown(window);
    await page.evaluate('watching.begin()');
    const heaps: number[] = [];
    for (let second = 0; second < seconds; second++) {
      await page.waitForTimeout(1_000);
      heaps.push(await window.heapBytes());
    }
    const lateMs = performance.now() + bench.pick(0, lateMaxMs);
    for (;;) {
      const came = (await linesShown(window)) - before;
      if (came >= seconds * linesPerSecond * 0.8) break;
      if (performance.now() >= lateMs) {
        throw new Error(
          `the page showed ${came} lines in ${seconds} s, of ${linesPerSecond} a second`,
        );
      }
      await page.waitForTimeout(100);
    }
    // The browser tells none below 50 ms.
    longest.push(Math.max(50, await page.evaluate<number>('watching.longestTask()')));
    heap.push(Math.max(...heaps) / 1e6);
    held.push((await renderersBytes(browser)) / 1e6);
    await window.close();
  });
  const group = `log at ${linesPerSecond.toLocaleString('en')} lines a second`;
  return [
    row({
      ...{ group, what: 'the longest task', unit: 'ms', better: 'lower' },
      rounds: { ours: longest },
      goals: [{ value: 100 }],
      note: `in ${String(seconds)} s; 50 stands for none that is longer`,
    }),
    row({
      ...{ group, what: 'JavaScript heap at its highest', unit: 'MB', better: 'lower' },
      rounds: { ours: heap },
      goals: [{ value: 200 }],
    }),
    row({
      ...{ group, what: 'memory of the page’s process alone', unit: 'MB', better: 'lower' },
      rounds: { ours: held },
      goals: [{ value: 200 }],
      note: 'what it shares with others left out',
    }),
  ];
}

/** The newest line that the page knows of. */
async function linesShown({ page }: Window): Promise<number> {
  const text = await page.locator('.log-row[data-offset]').last().getAttribute('data-offset');
  return Number(text);
}

/** The first who comes has the dashboard built. */
async function built(url: string, cookie: string): Promise<void> {
  const { ok, status } = await fetch(url, { headers: { ...onceOnly, cookie } });
  if (!ok) throw new Error(`the dashboard answered ${String(status)}`);
}
