/** Owns what tests of a driver share: specs, small programs, waiting and reading. */
import assert from 'node:assert/strict';
import fs from 'node:fs';

import type { Driver } from '../../src/drivers/driver.ts';
import type { LogEntry, Workload, WorkloadSpec } from '../../src/protocol/workload.ts';
import { found as until } from './eventually.ts';

export { until };

export type SpecOverrides = Partial<WorkloadSpec> & Pick<WorkloadSpec, 'id' | 'command'>;

export function specOf(overrides: SpecOverrides): WorkloadSpec {
  return {
    owner: 'app_test',
    kind: 'job',
    workingDir: '/tmp',
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    uid: null,
    port: null,
    container: null,
    resources: { memoryMb: null, cpus: null, pids: null, replicas: 1 },
    deadlineMs: null,
    stopGraceMs: 2000,
    ...overrides,
  };
}

/** Of programs that this process's tests start: the machine may run the same test a second time. */
export const mark = String(process.pid);

/** The script with its long sleeps marked: `sleep 98711` becomes `sleep 98711.<mark>`. */
export function marked(script: string): string {
  return script.replaceAll(/\bsleep (\d{4,})\b/g, `sleep $1.${mark}`);
}

/** Whether a command line begins with `text` and is marked as ours. */
export function isMarked(line: string, text: string): boolean {
  return line.startsWith(text) && line.trimEnd().endsWith(mark);
}

export const sh = (script: string): readonly string[] => ['/bin/sh', '-c', marked(script)];
export const js = (script: string): readonly string[] => [process.execPath, '-e', script];

export async function readAll(driver: Driver, id: string, afterSeq = 0): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  await driver.follow(id, afterSeq, collectInto(entries), new AbortController().signal);
  return entries;
}

/** Keeps copies: a driver may reuse the memory behind them. */
export function collectInto(entries: LogEntry[]): (more: readonly LogEntry[]) => void {
  return (more) => {
    entries.push(...more.map((entry) => ({ ...entry, bytes: Uint8Array.from(entry.bytes) })));
  };
}

export function textOf(entries: readonly LogEntry[], stream?: LogEntry['stream']): string {
  const chosen = entries.filter((entry) => stream === undefined || entry.stream === stream);
  return Buffer.concat(chosen.map((entry) => entry.bytes)).toString();
}

export function assertAscending(entries: readonly LogEntry[], first = 1): void {
  assert.deepEqual(
    entries.map((entry) => entry.seq),
    entries.map((_entry, index) => first + index),
  );
}

export function ended(
  driver: Driver,
  id: string,
): Promise<Workload & { state: { phase: 'ended' } }> {
  return until(`the end of ${id}`, async () => {
    const workload = await driver.inspect(id);
    if (workload?.state.phase !== 'ended') return undefined;
    return { ...workload, state: workload.state };
  });
}

/** For a shell: waits for the file `sign`, and takes it away. */
export const waitingFor = (sign: string): string =>
  `until rm ${sign} 2>/dev/null; do sleep 0.05; done`;

/** Makes the file `sign` where the workload is, which waits for it: once the last one is taken. */
export async function give(driver: Driver, id: string, sign: string): Promise<void> {
  const command = sh(`while [ -e ${sign} ]; do sleep 0.05; done; touch ${sign}`);
  const spec = { command, env: {}, timeoutMs: 20_000, maxBytes: 1000 };
  const { exitCode, output } = await driver.exec(id, spec, new AbortController().signal);
  assert.equal(exitCode, 0, Buffer.from(output).toString());
}

/** What is there now. */
export async function readSome(driver: Driver, id: string): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  const enough = new AbortController();
  // Long enough for a driver to answer; what is missing then is asked for again by who waits.
  const timer = setTimeout(() => {
    enough.abort();
  }, 200);
  const collect = (more: readonly LogEntry[]): void => {
    entries.push(...more);
    enough.abort();
  };
  await driver.follow(id, 0, collect, enough.signal);
  clearTimeout(timer);
  return entries;
}

/** Command lines of living, marked programs that begin with `text`. */
export function running(text: string): string[] {
  return fs.readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const line = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return isMarked(line, text) ? [line] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}
