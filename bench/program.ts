/**
 * Owns one run of the bench: from the words of the command line to the exit code. It prints a table of
 * each scenario, and writes `<name>.json` of each, one page of all of them and their goals as Markdown.
 *
 * 1. It ends with 1 where a scenario failed, with 2 where it was asked for what is not there, else with 0.
 * 2. A scenario that failed has no figure, neither in the terminal nor in any file, but its reason.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { home } from './harness.ts';
import type { Scenario } from './harness.ts';
import type { Interrupts } from './interrupts.ts';
import { describeMachine, findAffinity } from './machine.ts';
import { parseOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { markdown } from './report/markdown.ts';
import { page } from './report/page.ts';
import { writeResults } from './report/results.ts';
import type { Result, Run } from './report/results.ts';
import { machineLines, sidesOf } from './report/words.ts';
import { Runner } from './runner.ts';
import { Worktree } from './worktree.ts';

/** A scenario that takes longer hangs. */
const limitMs = 900_000;
/** Much of a smoke is waiting for servers to start; its figures are judged by nobody. */
const smokesAtOnce = 3;

export interface BenchRun {
  /** The folder of scenarios, one file each, with a slash at its end. */
  scenarios: URL;
  /** Where results go. */
  results: string;
  interrupts: Interrupts;
}

/** What the process should end with. */
export async function runBench(args: readonly string[], run: BenchRun): Promise<number> {
  const known = scenarioNames(run.scenarios);
  let options: Options;
  try {
    options = parseOptions(args, known);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (options.help || options.list) {
    console.log(options.help ? usage : known.join('\n'));
    return 0;
  }
  return await measure(options, run);
}

async function measure(options: Options, bench: BenchRun): Promise<number> {
  const { interrupts } = bench;
  const { names, quick, compare } = options;
  const affinity = findAffinity();
  const machine = describeMachine(affinity);
  for (const [name, text] of machineLines(machine)) console.log(`${name}: ${text}`);
  if (quick) console.log('a smoke: no goal is judged');
  const runner = new Runner({
    interrupts,
    scenarioOf: (name) => scenarioOf(bench.scenarios, name),
    print: (text) => console.log(text),
    printError: (text) => console.error(text),
    limitMs,
  });
  const run = { at: new Date().toISOString(), quick, machine };
  const results: Result[] = [];
  if (compare === null) {
    const atOnce = quick ? smokesAtOnce : 1;
    results.push(...(await inTurn(names, atOnce, (name) => runner.run(name, { quick, affinity }))));
    return report({ ...run, results }, options, bench);
  }
  const tree = checkedOut(compare);
  if (tree === null) return 2;
  return await interrupts.using(tree, async ({ root, commit }) => {
    const against = { ref: compare, commit };
    for (const line of sidesOf(against, machine)) console.log(line);
    try {
      await tree.install((line) => console.log(line));
    } catch (error) {
      console.error(error);
      return 2;
    }
    const base = { root, node: tree.node };
    for (const name of names) results.push(await runner.compare(name, { quick, affinity, base }));
    return report({ ...run, against, results }, options, bench);
  });
}

/** Results in the order of names. */
async function inTurn<T>(
  names: readonly string[],
  atOnce: number,
  work: (name: string) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  const waiting = names.entries();
  const lane = async (): Promise<void> => {
    for (const [at, name] of waiting) results[at] = await work(name);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return results;
}

function checkedOut(ref: string): Worktree | null {
  try {
    return Worktree.open({ home, ref });
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}

/** Writes down what was found; the exit code. */
function report(run: Run, { out }: Options, { results }: BenchRun): number {
  writeResults(results, run);
  const name = run.against === undefined ? 'report' : 'compare';
  const file = resolve(out ?? join(results, `${name}.html`));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, page(run));
  writeFileSync(join(results, `${name}.md`), markdown(run));
  const failed = run.results.filter((result) => 'failed' in result);
  for (const { name, failed: why } of failed) console.error(`\n${name} failed, no figures: ${why}`);
  console.log(`\nThe page: ${file}`);
  return failed.some(({ isFault }) => isFault) ? 1 : 0;
}

function scenarioNames(folder: URL): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
    .sort();
}

async function scenarioOf(folder: URL, name: string): Promise<Scenario> {
  const { scenario } = (await import(new URL(`${name}.ts`, folder).href)) as { scenario: Scenario };
  return scenario;
}
