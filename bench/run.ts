/**
 * `npm run bench -- [--quick] [name …]`: runs scenarios, prints a table each and writes
 * `bench/results/<name>.json`. Every figure stands beside the bare library's of the same run.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { Bench } from './harness.ts';
import type { Row, Scenario } from './harness.ts';

const folder = new URL('./scenarios/', import.meta.url);
const all = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))
  .sort();

const args = process.argv.slice(2);
const quick = args.includes('--quick');
const names = args.filter((arg) => !arg.startsWith('--'));
const unknown = names.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(', ')}; there are ${all.join(', ')}.`);
  process.exit(2);
}

let failed = false;
for (const name of names.length > 0 ? names : all) {
  const { scenario } = (await import(new URL(`${name}.ts`, folder).href)) as { scenario: Scenario };
  console.log(`\n${name}: ${scenario.title}`);
  const bench = new Bench(quick);
  try {
    const rows = await scenario.run(bench);
    print(rows);
    write(name, rows);
  } catch (error) {
    failed = true;
    console.error(`${name} failed, no figures:`, error);
  } finally {
    await bench.close();
  }
}
process.exit(failed ? 1 : 0);

function print(rows: readonly Row[]): void {
  const shown = rows.map((row) => ({
    what: row.what,
    ours: number(row.ours),
    against: row.against === null ? '' : number(row.against),
    unit: row.unit,
    ratio: row.ratio === null ? '' : row.ratio.toFixed(2),
    goal: row.goal,
  }));
  const columns = ['what', 'ours', 'against', 'unit', 'ratio', 'goal'] as const;
  const widths = columns.map((column) =>
    Math.max(column.length, ...shown.map((row) => row[column].length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  console.log(line(columns));
  for (const row of shown) console.log(line(columns.map((column) => row[column])));
}

function number(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
}

function write(name: string, rows: readonly Row[]): void {
  mkdirSync(new URL('./results/', import.meta.url), { recursive: true });
  const machine = { cores: cpus().length, model: cpus()[0]?.model, memoryBytes: totalmem() };
  const result = {
    name,
    quick,
    at: new Date().toISOString(),
    node: process.version,
    machine,
    rows,
  };
  writeFileSync(
    new URL(`./results/${name}.json`, import.meta.url),
    `${JSON.stringify(result, null, 2)}\n`,
  );
}
