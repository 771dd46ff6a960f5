/**
 * `npm run screenshots`: pictures of all pages of the dashboard, of a Gangway of its own that is full of real things.
 *
 *     npm run screenshots -- [--out <folder>] [--only <part of a name>]... [--size 1440|768|390]...
 *                            [--theme light|dark]... [--state full|empty|failing|outside]...
 *
 * 1. A picture is `<out>/<state>/<page>-<size>-<theme>.png`; what was there of the same name is replaced.
 * 2. Nothing else is made than what was asked for: one page takes seconds.
 * 3. It ends with 1 where a page did not come to rest, with the names of those.
 */
import { parseArgs } from 'node:util';
import { openBrowser } from '../support/browser.ts';
import { Gangway } from '../support/gangway.ts';
import { Camera, sizes, themes } from './camera.ts';
import { isState, states, takeState } from './states.ts';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'screenshots' },
    only: { type: 'string', multiple: true, default: [] },
    size: { type: 'string', multiple: true, default: [] },
    theme: { type: 'string', multiple: true, default: [] },
    state: { type: 'string', multiple: true, default: [] },
  },
});

const beganMs = performance.now();
const camera = new Camera({
  out: values.out,
  only: values.only,
  sizes: chosen('size', sizes, values.size.map(Number)),
  themes: chosen('theme', themes, values.theme),
});
const wanted = chosen('state', states, values.state).filter(isState);
const gangway = await Gangway.create();
const browser = await openBrowser();
try {
  await gangway.start();
  for (const state of wanted) await takeState(state, { gangway, browser, camera });
} finally {
  await browser.close();
  await gangway.end();
}
const seconds = Math.round((performance.now() - beganMs) / 1000);
console.log(`${camera.taken} pictures in ${values.out}, in ${seconds} s`);
for (const failure of camera.failures) console.error(failure);
if (camera.failures.length > 0 || camera.taken === 0) process.exitCode = 1;

/** Those that were named, or all. */
function chosen<T extends string | number>(
  option: string,
  all: readonly T[],
  named: readonly (string | number)[],
): T[] {
  for (const one of named) {
    if (all.some((known) => known === one)) continue;
    throw new Error(`--${option} ${one} is none of ${all.join(', ')}`);
  }
  return named.length === 0 ? [...all] : all.filter((one) => named.includes(one));
}
