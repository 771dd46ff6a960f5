/**
 * Owns the end of one test file's process, into which the runner loads it.
 *
 * 1. Whatever ends it (its last test, a signal, the death of the runner), what it started ends too:
 *    all temporary files of the process lie in one folder, and who names that in its command line,
 *    its environment or its working directory is killed with it.
 * 2. A process that lives on behind its last test is told what keeps it, and fails.
 * 3. A test that takes longer than it may ends it.
 * 4. `node:test` is what node-test.ts makes of it.
 */
import { mkdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { after, afterEach, beforeEach } from 'node:test';
import { isMainThread } from 'node:worker_threads';
import { lingerMs, testMs } from './limits.ts';
import { folderOf, sweepFolder } from './sweep.ts';

const runner = process.env['GANGWAY_TESTS_RUNNER'];

/** Loaded here, it stands for Node's own in whatever is loaded afterwards. */
const nodeTest = import.meta.resolve('./node-test.ts');

function countAndLimit(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== 'node:test' || context.parentURL === nodeTest)
        return next(specifier, context);
      return { url: nodeTest, format: 'module-typescript', shortCircuit: true };
    },
  });
}

function ownFolder(): void {
  const folder = folderOf(process.ppid, process.pid);
  // The uids of apps may walk through it.
  mkdirSync(folder, { mode: 0o711 });
  process.env['TMPDIR'] = folder;
  process.on('exit', () => {
    const left = sweepFolder(folder);
    if (left.length > 0) process.stderr.write(`left behind: ${left.join('; ')}\n`);
  });
}

function endWithRunner(): void {
  setInterval(() => {
    if (String(process.ppid) !== runner) process.exit(1);
  }, 1000).unref();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      process.exit(1);
    });
  }
}

/** Node's own limit reaches no test in a suite. Nothing is known of a file where a test hangs. */
function limitTests(): void {
  const timers = new Map<unknown, NodeJS.Timeout>();
  beforeEach((t) => {
    const cut = setTimeout(() => {
      const what = 'fullName' in t ? t.fullName : t.name;
      process.stderr.write(`Cut after ${String(testMs)} ms, with the rest of the file: ${what}\n`);
      process.exit(1);
    }, testMs);
    timers.set(t, cut.unref());
  });
  afterEach((t) => {
    clearTimeout(timers.get(t));
    timers.delete(t);
  });
}

function endAfterTests(): void {
  after(() => {
    // Fires only where something else keeps the process going.
    setTimeout(() => {
      const open = process.getActiveResourcesInfo().join(', ');
      process.stderr.write(`Its tests have ended, it has not; what is open: ${open}\n`);
      process.exit(1);
    }, lingerMs).unref();
  });
}

// Worker threads and children of tests are given the same flags.
if (isMainThread && runner === String(process.ppid)) {
  countAndLimit();
  endWithRunner();
  ownFolder();
  limitTests();
  endAfterTests();
}
