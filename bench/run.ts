/**
 * `npm run bench`: runs scenarios, prints a table each, and writes `bench/results/<name>.json` and one
 * page of all of them. Ends with 1 where a scenario failed: it has no figures then.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { base, Comparison, SideError } from './compare.ts';
import { Bench, home } from './harness.ts';
import type { LegacyRow, Scenario } from './harness.ts';
import { Interrupts } from './interrupts.ts';
import type { Closable } from './interrupts.ts';
import { describeMachine, findAffinity } from './machine.ts';
import type { Row } from './model.ts';
import { row } from './model.ts';
import { parseOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { differenceTable } from './report/difference.ts';
import { page } from './report/page.ts';
import { writeResults } from './report/results.ts';
import type { Result, Run } from './report/results.ts';
import { table } from './report/table.ts';
import { machineLines } from './report/words.ts';
import { Worktree } from './worktree.ts';

const folder = new URL('./scenarios/', import.meta.url);
const resultsFolder = fileURLToPath(new URL('./results/', import.meta.url));
const affinity = findAffinity();
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
  try {
    return await measure(options);
  } catch (error) {
    console.error((error as Error).message);
    return 2;
  }
}

async function measure(options: Options): Promise<number> {
  const { names, quick, compare } = options;
  const machine = describeMachine(affinity);
  for (const [name, text] of machineLines(machine)) console.log(`${name}: ${text}`);
  const run = { at: new Date().toISOString(), quick, machine };
  if (compare === null) {
    const results: Result[] = [];
    for (const name of names) results.push(await against(name, new Bench({ quick, affinity })));
    return report({ ...run, results }, options);
  }
  const log = (line: string): void => console.log(line);
  const tree = Worktree.open({ home, ref: compare, log });
  return await interrupts.using(tree, async ({ root, node, commit }) => {
    const results: Result[] = [];
    for (const name of names) {
      results.push(await between(name, new Comparison({ quick, affinity, base: { root, node } })));
    }
    return report({ ...run, against: { ref: compare, commit }, results }, options);
  });
}

/** Writes down what was found; the exit code. */
function report(run: Run, { out }: Options): number {
  writeResults(resultsFolder, run);
  const standard = run.against === undefined ? 'report.html' : 'compare.html';
  const file = out ?? `${resultsFolder}${standard}`;
  writeFileSync(file, page(run));
  const failed = run.results.filter((result) => 'failed' in result);
  for (const { name, failed: why } of failed) console.error(`\n${name} failed, no figures: ${why}`);
  console.log(`\nThe page: ${file}`);
  return failed.some(({ isFault }) => isFault) ? 1 : 0;
}

/** Gangway against others. */
async function against(name: string, bench: Bench): Promise<Result> {
  return await runScenario(name, bench, async (scenario) => {
    const rows = (await scenario.run(bench)).map(fromLegacy);
    if (rows.length > 0) console.log(table(rows, bench.quick));
    return rows;
  });
}

/** This state of the project against another. */
async function between(name: string, comparison: Comparison): Promise<Result> {
  return await runScenario(name, comparison, async (scenario) => {
    const rows = await comparison.run(scenario);
    if (rows.length > 0) console.log(differenceTable(rows));
    return rows;
  });
}

async function runScenario(
  name: string,
  closable: Closable,
  work: (scenario: Scenario) => Promise<readonly Row[]>,
): Promise<Result> {
  const { scenario } = await loadScenario(name);
  const { title } = scenario;
  console.log(`\n${name}: ${title}`);
  const startedMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedMs) / 1000);
  try {
    const rows = await interrupts.using(closable, () => work(scenario));
    if (rows.length === 0) throw new Error('it measured nothing');
    return { name, title, seconds: seconds(), rows };
  } catch (error) {
    console.error(`${name} failed:`, error);
    const isFault = !(error instanceof SideError) || error.side !== base;
    return { name, title, seconds: seconds(), failed: (error as Error).message, isFault };
  }
}

function fromLegacy(one: Row | LegacyRow): Row {
  if (!('against' in one)) return one;
  const { what, unit, goal, ours, against } = one;
  const better = unit.endsWith('/s') ? 'higher' : 'lower';
  const value = Number(/[\d.]+/.exec(goal)?.[0]);
  const goals = Number.isNaN(value)
    ? []
    : [against === null || goal.endsWith('ms') ? { value } : { against: 'other', ratio: value }];
  const rounds = { ours: [ours], ...(against !== null && { other: [against] }) };
  return row({ what, unit, better, goals, rounds });
}

function scenarioNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
    .sort();
}

async function loadScenario(name: string): Promise<{ scenario: Scenario }> {
  return (await import(new URL(`${name}.ts`, folder).href)) as { scenario: Scenario };
}
