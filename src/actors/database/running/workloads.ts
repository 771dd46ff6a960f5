/** Owns the workloads of a database: their names, which one is live, and how they end. */
import type { DatabaseRecord, DatabaseRun } from '../../../store/records/records.ts';
import type { DatabaseCore } from '../core.ts';
import { finishRotation } from '../settings/passwords.ts';

/** Names the job that makes the files. Null: it is not wanted any more. */
export function nameInit(core: DatabaseCore): string | null {
  return nameNext(core, (run, initJob) => ({ ...leaving(run, 'initJob'), initJob }));
}

/** Names the server before the driver is told of it; `version` is the one that runs. Null: not wanted. */
export function nameServer(
  core: DatabaseCore,
  { port, image, version }: { port: number; image: string | null; version: string },
): string | null {
  const into = (run: DatabaseRun, next: string): DatabaseRun => ({
    ...leaving(leaving(run, 'initJob'), 'next'),
    ...{ next, port, image },
  });
  return nameNext(core, into, { version });
}

function nameNext(
  core: DatabaseCore,
  into: (run: DatabaseRun, workloadId: string) => DatabaseRun,
  patch: Partial<DatabaseRecord> = {},
): string | null {
  if (!core.isStarting) return null;
  const { run } = core.require();
  const seq = run.seq + 1;
  const workloadId = `${core.id}-${String(seq)}`;
  core.save({ ...patch, run: { ...into(run, workloadId), seq } });
  core.endAll();
  return workloadId;
}

/** Ends the named server, which is no longer waited for, before another one is named. */
export function leaveNext(core: DatabaseCore): void {
  if (!core.isStarting) return;
  core.save({ run: leaving(core.require().run, 'next') });
  core.endAll();
}

/** The server answers, and its user and database exist. False when it is not wanted any more. */
export function goLive(core: DatabaseCore, workloadId: string): boolean {
  const { run } = core.require();
  if (run.next !== workloadId) return false;
  const live = workloadId;
  core.save({ error: null, run: { ...run, made: true, live, next: null, crashing: false } });
  finishRotation(core);
  return true;
}

/** `run` without a workload, which is to end at once. */
export function leaving(run: DatabaseRun, which: 'live' | 'next' | 'initJob'): DatabaseRun {
  const workloadId = run[which];
  if (workloadId === null) return run;
  return { ...run, [which]: null, ending: [...run.ending, workloadId] };
}
