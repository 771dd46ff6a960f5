/**
 * Owns the runner's memory on disk: one folder a workload with `workload.json` and its spool.
 *
 * 1. A record is replaced whole: after a crash there is the old one or the new one.
 * 2. Folders and files are for their owner alone, and the app's variables in them are sealed.
 */
import fs from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';

import type { Exit, WorkloadSpec } from '../../protocol/workload.ts';
import { writeFileWhole } from '../../lib/whole-file.ts';
import type { FirstProcess } from '../../lib/processes/processes.ts';
import type { EnvSeal } from './sealed-env.ts';

export interface WorkloadRecord {
  spec: WorkloadSpec;
  /** What was asked for last. */
  want: 'run' | 'stop';
  restarts: number;
  startedAtMs: number;
  /** How its last run ended; absent before that. */
  lastExit?: Exit;
  /** The process started last; null before the first start. */
  first: FirstProcess | null;
  /** In its own network; absent: it has none. */
  address?: string;
  /** Set once it has ended for good. */
  exit: Exit | null;
}

interface SealedRecord extends Omit<WorkloadRecord, 'spec'> {
  spec: Omit<WorkloadSpec, 'env'> & { sealedEnv: string };
}

const recordName = 'workload.json';
const idPattern = /^[a-z0-9_-]{2,64}$/;

export function isWorkloadId(id: string): boolean {
  return idPattern.test(id);
}

export class Records {
  readonly #dir: string;
  readonly #seal: EnvSeal;

  constructor(dir: string, seal: EnvSeal) {
    this.#dir = dir;
    this.#seal = seal;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  dirOf(id: string): string {
    return path.join(this.#dir, id);
  }

  spoolDir(id: string): string {
    return path.join(this.#dir, id, 'log');
  }

  /** `durable`: also when the machine loses power right after. */
  save(record: WorkloadRecord, durable: boolean): void {
    const dir = path.join(this.#dir, record.spec.id);
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    const { env, ...spec } = record.spec;
    const sealedEnv = this.#seal.seal(env, spec.id);
    const sealed: SealedRecord = { ...record, spec: { ...spec, sealedEnv } };
    writeFileWhole(path.join(dir, recordName), JSON.stringify(sealed), durable);
  }

  /** The record at once; what lies beside it, such as a long log, while others have their turns. */
  async remove(id: string): Promise<void> {
    const dir = path.join(this.#dir, id);
    fs.rmSync(path.join(dir, recordName), { force: true });
    await rm(dir, { recursive: true, force: true });
  }

  /** All that can be read; what cannot is given to `damaged` and left where it is. */
  load(damaged: (id: string, error: unknown) => void): WorkloadRecord[] {
    const found: WorkloadRecord[] = [];
    for (const id of fs.readdirSync(this.#dir)) {
      if (!isWorkloadId(id)) continue;
      try {
        const text = fs.readFileSync(path.join(this.#dir, id, recordName), 'utf8');
        const record = JSON.parse(text) as SealedRecord;
        const { sealedEnv, ...spec } = record.spec;
        found.push({ ...record, spec: { ...spec, env: this.#seal.open(sealedEnv, id) } });
      } catch (error) {
        damaged(id, error);
      }
    }
    return found;
  }
}
