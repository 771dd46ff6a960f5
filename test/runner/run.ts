/**
 * Runs test files as `node --test` does, and ends by itself whatever they do.
 *
 *     node test/runner/run.ts [--concurrency=<files at a time>] [--again] [<file or pattern>...]
 *
 * 1. Each test, hook and file has a limit (limits.ts); what a file started ends with it (guard.ts).
 * 2. The output is that of Node's reporters, closing lines included; ahead of those it tells what was
 *    not tried and what failed (events.ts).
 * 3. With `--again` files that failed run once more at the end, each alone. Those that pass then are named, and
 *    the run is good: their failure took a busy machine.
 * 4. A signal ends the files that run, and the run with 1; what a killed run left is ended, too.
 */
import { spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { spec, tap } from 'node:test/reporters';
import type { TestEvent } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { childrenOf, signal } from '../support/processes.ts';
import { mayNotSkip } from '../support/programs.ts';
import { withReport } from './events.ts';
import { inLanes } from './lanes.ts';
import { lendDaemons } from './lent-daemons.ts';
import { fileMs } from './limits.ts';
import { sweepDead } from './sweep.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  // These keep the two cores that CI has at work; a fourth made it longer.
  options: {
    concurrency: { type: 'string', default: '3' },
    again: { type: 'boolean', default: false },
  },
});
const patterns = positionals.length > 0 ? positionals : ['test/**/*.test.ts'];
const files = [...new Set(globSync(patterns).map((file) => resolve(file)))].sort();
if (files.length === 0) throw new Error(`Cannot run tests: no file is ${patterns.join(' or ')}`);

const stop = new AbortController();
// Each file's run listens.
setMaxListeners(0, stop.signal);
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(name, () => {
    process.exitCode = 1;
    stop.abort();
  });
}

const endMs = 3_000;
const watcher = watchOver();
process.env['GANGWAY_TESTS_RUNNER'] = String(process.pid);
await sweepDead();
const daemons = await lendDaemons();
let sweeping = Promise.resolve();
const before = new Map<string, readonly TestEvent[]>();
const events = inLanes(files, {
  concurrency: Number(values.concurrency),
  timeout: fileMs,
  signal: stop.signal,
  execArgv: [
    '--disable-warning=ExperimentalWarning',
    `--import=${pathOf('../../src/strip-cache.mjs')}`,
    `--import=${pathOf('guard.ts')}`,
  ],
  ended: () => {
    sweeping = sweeping.then(sweepDead);
  },
  ...(values.again && { setAside: (file, said) => before.set(file, said) }),
});
const told = withReport(
  events,
  { files: new Set(files), before },
  {
    mayNotSkip: mayNotSkip(),
    failed: () => {
      process.exitCode = 1;
    },
  },
);
const reporter = process.stdout.isTTY ? Readable.from(told).pipe(new spec()) : tap(told);
for await (const text of reporter as AsyncIterable<string>) process.stdout.write(text);
await daemons.close();
await endAll();
await sweeping;
await sweepDead();
if (watcher.pid !== undefined) signal(-watcher.pid, 'SIGKILL');

/** Sees to what is left where this process is ended without a word: then its pipe closes. */
function watchOver(): ChildProcess {
  const sweep = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    pathOf('sweep-after.ts'),
  ];
  const script = 'cat >/dev/null; sleep 3; exec "$@"';
  const watcher = spawn('/bin/sh', ['-c', script, 'sh', ...sweep], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.unref();
  return watcher;
}

/** Files that were cut: they are given time to end what they started. */
async function endAll(): Promise<void> {
  const endAt = performance.now() + endMs;
  for (;;) {
    const left = childrenOf(process.pid).filter((pid) => pid !== watcher.pid);
    if (left.length === 0) return;
    if (performance.now() > endAt) for (const pid of left) signal(pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
