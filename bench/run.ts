/**
 * `npm run bench`: runs scenarios, prints a table each, and writes `bench/results/<name>.json`, one page
 * of all of them and their goals as Markdown. Ends with 1 where a scenario failed, with 2 where it was asked for what is not.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { home } from './harness.ts';
import type { Scenario } from './harness.ts';
import { Interrupts } from './interrupts.ts';
import { describeMachine, findAffinity } from './machine.ts';
import { parseOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { markdown } from './report/markdown.ts';
import { page } from './report/page.ts';
import { writeResults } from './report/results.ts';
import type { Result, Run } from './report/results.ts';
import { machineLines } from './report/words.ts';
import { Runner } from './runner.ts';
import { Worktree } from './worktree.ts';

const folder = new URL('./scenarios/', import.meta.url);
const resultsFolder = fileURLToPath(new URL('./results/', import.meta.url));
/** A scenario that takes longer hangs. */
const limitMs = 900_000;

const interrupts = new Interrupts();
interrupts.listen();
process.exit(await main());

async function main(): Promise<number> {
  const known = scenarioNames();
  let options: Options;
  try {
    options = parseOptions(process.argv.slice(2), known);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (options.help || options.list) {
    console.log(options.help ? usage : known.join('\n'));
    return 0;
  }
  return await measure(options);
}

async function measure(options: Options): Promise<number> {
  const { names, quick, compare } = options;
  const affinity = findAffinity();
  const machine = describeMachine(affinity);
  for (const [name, text] of machineLines(machine)) console.log(`${name}: ${text}`);
  if (quick) console.log('a smoke: no goal is judged');
  const runner = new Runner({
    interrupts,
    scenarioOf,
    print: (text) => console.log(text),
    printError: (text, error) => console.error(text, error),
    limitMs,
  });
  const run = { at: new Date().toISOString(), quick, machine };
  const results: Result[] = [];
  if (compare === null) {
    for (const name of names) results.push(await runner.run(name, { quick, affinity }));
    return report({ ...run, results }, options);
  }
  const tree = openWorktree(compare);
  if (tree === null) return 2;
  return await interrupts.using(tree, async ({ root, node, commit }) => {
    for (const name of names) {
      results.push(await runner.compare(name, { quick, affinity, base: { root, node } }));
    }
    return report({ ...run, against: { ref: compare, commit }, results }, options);
  });
}

function openWorktree(ref: string): Worktree | null {
  try {
    return Worktree.open({ home, ref, log: (line) => console.log(line) });
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}

/** Writes down what was found; the exit code. */
function report(run: Run, { out }: Options): number {
  writeResults(resultsFolder, run);
  const name = run.against === undefined ? 'report' : 'compare';
  const file = resolve(out ?? `${resultsFolder}${name}.html`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, page(run));
  writeFileSync(`${resultsFolder}${name}.md`, markdown(run));
  const failed = run.results.filter((result) => 'failed' in result);
  for (const { name, failed: why } of failed) console.error(`\n${name} failed, no figures: ${why}`);
  console.log(`\nThe page: ${file}`);
  return failed.some(({ isFault }) => isFault) ? 1 : 0;
}

function scenarioNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
    .sort();
}

async function scenarioOf(name: string): Promise<Scenario> {
  const { scenario } = (await import(new URL(`${name}.ts`, folder).href)) as { scenario: Scenario };
  return scenario;
}
