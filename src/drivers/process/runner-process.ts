/**
 * Owns the start of a runner: a process of its own session that outlives this one, with its log in
 * the data directory and nothing inherited.
 */
import { spawn, type StdioOptions } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { asOthers } from '../../lib/processes/go-first.ts';
import type { IsolationLayer } from '../../protocol/isolation.ts';
import { runnerStateDir } from '../../protocol/runner-version.ts';
import { prepareRunnerProgram } from './program.ts';

/** What the log may hold when a runner starts; above, it is moved aside once. */
const logBytesMax = 8 * 1024 * 1024;

/**
 * A runner is to be small, not fast: its work is done by the kernel. Without the last compiler tier
 * it rests at 54 instead of 61 MB, and comes back there after a busy time instead of staying at 90.
 */
const nodeFlags = [
  '--optimize-for-size',
  '--no-opt',
  '--max-semi-space-size=1',
  '--max-old-space-size=256',
  // Threads that help would be waited for, with all that the edge serves, until each has had a core: beside a
  // workload that takes all of them ten times as long as the work itself.
  '--single-threaded-gc',
  '--no-warnings',
];

export interface RunnerSettings {
  dataDir: string;
  /** 32 bytes: what the variables of workloads are encrypted with on disk. */
  key: Uint8Array;
  /** Layers of isolation to leave out. */
  without: readonly IsolationLayer[];
}

/** Returns its pid; whether it is up is for the caller to see at its socket. */
export function startRunner({ dataDir, key, without }: RunnerSettings): number {
  const stateDir = path.join(dataDir, runnerStateDir);
  fs.mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const entry = prepareRunnerProgram(stateDir);
  const log = openLog(path.join(stateDir, 'runner.log'));
  try {
    const args = ['--data-dir', dataDir, '--without', without.join()];
    const options = {
      cwd: '/',
      detached: true,
      stdio: ['pipe', log, log] satisfies StdioOptions,
      // cbor-x in plain JavaScript: its native part costs 8 MB and serves only long strings.
      env: {
        CBOR_NATIVE_ACCELERATION_DISABLED: 'true',
        UV_THREADPOOL_SIZE: '2',
        // Buffers go back to the system when they are freed, not into a store for later.
        MALLOC_ARENA_MAX: '1',
        MALLOC_MMAP_THRESHOLD_: '65536',
        MALLOC_TRIM_THRESHOLD_: '131072',
      },
    };
    const child = asOthers(() => spawn(process.execPath, [...nodeFlags, entry, ...args], options));
    child.once('error', () => undefined); // Told by the missing pid.
    child.unref();
    child.stdin?.on('error', () => undefined); // It is gone already; the socket tells.
    child.stdin?.end(Buffer.from(key).toString('hex'));
    if (child.pid === undefined) throw new Error('Cannot start the runner: no process was made');
    return child.pid;
  } finally {
    fs.closeSync(log);
  }
}

/** Whether a runner of this data directory has anything on record. */
export function hasRecords(dataDir: string): boolean {
  try {
    return fs.readdirSync(path.join(dataDir, runnerStateDir, 'workloads')).length > 0;
  } catch {
    return false; // No runner ever wrote here.
  }
}

function openLog(file: string): number {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > logBytesMax) fs.renameSync(file, `${file}.old`);
  return fs.openSync(file, 'a', 0o600);
}
