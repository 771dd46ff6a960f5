/**
 * `npm run bench`: runs scenarios, prints a table each, and writes `bench/results/<name>.json` and one
 * page of all of them. Ends with 1 where a scenario failed: it has no figures then.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Bench } from './harness.ts';
import type { LegacyRow, Scenario } from './harness.ts';
import { describeMachine, findAffinity } from './machine.ts';
import type { Row } from './model.ts';
import { row } from './model.ts';
import { parseOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { page } from './report/page.ts';
import { writeResults } from './report/results.ts';
import type { Result, Run } from './report/results.ts';
import { table } from './report/table.ts';
import { machineLines } from './report/words.ts';

const folder = new URL('./scenarios/', import.meta.url);
const resultsFolder = fileURLToPath(new URL('./results/', import.meta.url));
const affinity = findAffinity();

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

async function measure({ names, quick, out }: Options): Promise<number> {
  const machine = describeMachine(affinity);
  for (const [name, text] of machineLines(machine)) console.log(`${name}: ${text}`);
  const results: Result[] = [];
  for (const name of names) results.push(await runScenario(name, quick));
  const run: Run = { at: new Date().toISOString(), quick, machine, results };
  writeResults(resultsFolder, run);
  const file = out ?? `${resultsFolder}report.html`;
  writeFileSync(file, page(run));
  const failed = results.filter((result) => 'failed' in result);
  for (const { name, failed: why } of failed) console.error(`\n${name} failed, no figures: ${why}`);
  console.log(`\nThe page: ${file}`);
  return failed.length > 0 ? 1 : 0;
}

async function runScenario(name: string, quick: boolean): Promise<Result> {
  const { scenario } = await loadScenario(name);
  const { title } = scenario;
  console.log(`\n${name}: ${title}`);
  const startedMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedMs) / 1000);
  const bench = new Bench({ quick, affinity });
  const interrupted = (): void => {
    void bench.close().finally(() => process.exit(130));
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const rows = (await scenario.run(bench)).map(fromLegacy);
    if (rows.length === 0) throw new Error('it measured nothing');
    console.log(table(rows, quick));
    return { name, title, seconds: seconds(), rows };
  } catch (error) {
    console.error(`${name} failed:`, error);
    return { name, title, seconds: seconds(), failed: (error as Error).message };
  } finally {
    await bench.close();
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
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
