/**
 * Breaks behaviours one by one and lists those that no test of their part notices.
 *
 *     npm run mutants [-- --jobs=<at a time>] [<part of a name>...]
 *
 * 1. All happens in copies of the tree; the checkout is never changed.
 * 2. First the tests run without a break: what is red then shows nothing.
 * 3. It ends with 1 for a break that survives, does not apply any more, or is no TypeScript, and where
 *    tests are red without one.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Break } from './break.ts';
import { core } from './core.ts';
import { unnoticed } from './unnoticed.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const left = new Set(['.git', 'node_modules', 'data', 'results', 'peers']);
/** Of one test; a break often shows in a test that waits in vain. */
const testMs = 60_000;
const failed = /^\s*not ok /m;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: 'string', default: '2' } },
});
const breaks = [...unnoticed, ...core].filter(
  ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
);

const folder = mkdtempSync(join(tmpdir(), 'gangway-mutants-'));
// The uids of apps may walk through it, as through most places of a clone.
chmodSync(folder, 0o711);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    stop.abort();
  });
}
process.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});

interface Verdict {
  name: string;
  /** Null: it is as it should be. */
  wrong: string | null;
}

function copyTree(name: string): string {
  const copy = join(folder, name);
  cpSync(root, copy, { recursive: true, filter: (path) => !left.has(basename(path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  chmodSync(copy, 0o711);
  return copy;
}

/** Whether all of them pass; ends at the first that does not. */
async function pass(tree: string, tests: readonly string[]): Promise<boolean> {
  const files = tests.map((file) => `test/${file}`);
  const args = ['--disable-warning=ExperimentalWarning', 'test/runner/run.ts', ...files];
  const env = { ...process.env, GANGWAY_TESTS_LIMIT_MS: String(testMs) };
  const child = spawn(process.execPath, args, {
    cwd: tree,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const end = (): void => {
    child.kill('SIGTERM');
  };
  stop.signal.addEventListener('abort', end);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = output.slice(-1_000) + text;
      if (failed.test(output)) end();
    });
  }
  const code = await new Promise((resolve) => child.once('close', resolve));
  stop.signal.removeEventListener('abort', end);
  return code === 0;
}

async function judge(tree: string, one: Break): Promise<string | null> {
  const file = join(tree, one.file);
  const whole = readFileSync(file, 'utf8');
  const places = whole.split(one.find).length - 1;
  if (places !== 1) return `does not apply: found ${String(places)} times in ${one.file}`;
  const broken = whole.replace(one.find, () => one.replace);
  try {
    stripTypeScriptTypes(broken);
  } catch (error) {
    return `is no TypeScript: ${(error as Error).message}`;
  }
  writeFileSync(file, broken);
  try {
    return (await pass(tree, one.tests)) ? `SURVIVES ${one.tests.join(', ')}` : null;
  } finally {
    writeFileSync(file, whole);
  }
}

/** As a call, because the compiler takes a property it has seen false to stay so. */
function isStopped(): boolean {
  return stop.signal.aborted;
}

type Task = (tree: string) => Promise<Verdict>;

let wrongs = 0;
/** Each tree takes the next task when it is done with one. */
async function runAll(trees: readonly string[], tasks: readonly Task[]): Promise<void> {
  const waiting = [...tasks];
  const serve = async (tree: string): Promise<void> => {
    for (let task = waiting.shift(); task && !isStopped(); task = waiting.shift()) {
      const began = performance.now();
      const { name, wrong } = await task(tree);
      if (isStopped()) return;
      if (wrong !== null) wrongs += 1;
      const seconds = ((performance.now() - began) / 1000).toFixed(0).padStart(4);
      process.stdout.write(`${seconds} s  ${wrong === null ? 'ok  ' : 'WRONG'} ${name}`);
      process.stdout.write(wrong === null ? '\n' : `: ${wrong}\n`);
    }
  };
  await Promise.all(trees.map(serve));
}

const trees = Array.from({ length: Number(values.jobs) }, (_, i) => copyTree(String(i)));
const red = new Set<string>();
const files = [...new Set(breaks.flatMap(({ tests }) => tests))];
process.stdout.write(`${String(files.length)} files without a break\n`);
await runAll(
  trees,
  files.map((name) => async (tree) => {
    if (await pass(tree, [name])) return { name, wrong: null };
    red.add(name);
    return { name, wrong: 'is red without a break' };
  }),
);
process.stdout.write(`${String(breaks.length)} breaks\n`);
await runAll(
  trees,
  breaks.map((one) => async (tree) => {
    const { name, tests } = one;
    const isRed = tests.some((file) => red.has(file));
    return { name, wrong: isRed ? 'is not tried: its tests are red' : await judge(tree, one) };
  }),
);
process.stdout.write(
  wrongs === 0 ? 'Each break was noticed.\n' : `${String(wrongs)} are wrong, see above.\n`,
);
process.exitCode = wrongs === 0 && breaks.length > 0 && !stop.signal.aborted ? 0 : 1;
