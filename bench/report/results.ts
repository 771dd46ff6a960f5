/** Owns the results of a run: what each scenario found or why it failed, with the machine, as JSON. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../machine.ts';
import type { Row } from '../model.ts';

export type Result = { name: string; title: string; seconds: number } & (
  | { rows: readonly Row[] }
  /** Why there are no figures. */
  | { failed: string }
);

export interface Run {
  at: string;
  /** A smoke: its figures say that the answers are right, and no more. */
  quick: boolean;
  machine: Machine;
  results: readonly Result[];
}

/** One file a scenario, and none that a scenario of this run left behind before it failed. */
export function writeResults(folder: string, { results, ...run }: Run): void {
  mkdirSync(folder, { recursive: true });
  for (const result of results) {
    writeFileSync(
      join(folder, `${result.name}.json`),
      `${JSON.stringify({ ...run, ...result }, null, 2)}\n`,
    );
  }
}
