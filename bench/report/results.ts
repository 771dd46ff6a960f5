/** Owns the results of a run: what each scenario found or why it failed, with the machine, as JSON. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../machine.ts';
import type { Row } from '../model.ts';

export type Result = { name: string; title: string; seconds: number } & (
  | { rows: readonly Row[] }
  /** Why there are no figures; a base that has not what is measured is no fault. */
  | { failed: string; isFault: boolean }
);

/** A state of the project that this tree was held against. */
export interface Against {
  /** As it was asked for. */
  ref: string;
  commit: string;
}

export interface Run {
  at: string;
  /** A smoke: its figures say that the answers are right, and no more. */
  quick: boolean;
  machine: Machine;
  against?: Against;
  results: readonly Result[];
}

/** One file a scenario: `health.json`, or `health.compare.json` where states were held against each other. */
export function writeResults(folder: string, { results, ...run }: Run): void {
  mkdirSync(folder, { recursive: true });
  const suffix = run.against === undefined ? 'json' : 'compare.json';
  for (const result of results) {
    const text = JSON.stringify({ ...run, ...result }, null, 2);
    writeFileSync(join(folder, `${result.name}.${suffix}`), `${text}\n`);
  }
}
