/**
 * Owns the instances of an app: the live one, the one that is being started, and those that are ending.
 *
 * 1. An instance stands in `run` from before its start until the driver has forgotten it: nothing runs
 *    unseen.
 * 2. The edge hears of a new instance before the old one is asked to end.
 */
import type { Workload } from '../../../protocol/workload.ts';
import type { AppCrashes, AppRecord, AppRun, Instance } from '../../../store/records/records.ts';
import { partId } from '../compose/parts.ts';
import { fetchJobOf, workloadsOf } from './containers.ts';
import type { AppCore } from '../core.ts';
import { countEnd, crashesOf } from './crashes.ts';
import type { Handlers } from '../protocol.ts';

/** `ensureRunning` is called when the app should run and nothing of it does. */
export function instanceHandlers(core: AppCore, ensureRunning: () => void) {
  return {
    workload: ({ workload }) => {
      notice(core, workload, ensureRunning);
      return true;
    },
    workloads: ({ workloads }) => {
      const live = core.record?.run.live ?? null;
      for (const id of workloadsOf(live)) {
        const found = workloads.find(({ spec }) => spec.id === id);
        if (found === undefined) {
          core.care.confirm(id, id === live?.workloadId ? live.port : null, (workload) =>
            notice(core, workload, ensureRunning),
          );
        }
        // A service that runs once has ended, and that is well.
        else if (found.spec.kind === 'service') noticeLive(core, found, ensureRunning);
      }
      core.care.removeUnknown(workloads, knownWorkloads(core));
      return true;
    },
  } satisfies Handlers;
}

function knownWorkloads({ record, open, context }: AppCore): Set<string | null> {
  const run = record?.run;
  const instances = [run?.live, run?.next, ...(run?.draining ?? [])];
  return new Set([
    ...instances.flatMap((instance) => workloadsOf(instance)),
    ...open.flatMap(({ id, buildJob }) => [buildJob, fetchJobOf(id, context.epoch)]),
  ]);
}

export interface NextInstance {
  deploymentId: string;
  port: number;
  image: string | null;
  /** For a compose file: the main service, and the others with their places in the start order. */
  stack: { main: string; others: { service: string; at: number; image: string }[] } | null;
}

/** Names an instance before the driver is told of it. Null: the instance is not wanted any more. */
export function nameNext(core: AppCore, wanted: NextInstance): Instance | null {
  const { deploymentId, port, image, stack } = wanted;
  if (!core.wants(deploymentId)) return null;
  const { run } = core.require();
  const seq = run.seq + 1;
  const workloadId = `${deploymentId}-${String(seq)}`;
  const parts = stack?.others.map(({ at, ...part }) => ({
    ...part,
    workloadId: partId(workloadId, at),
  }));
  const next: Instance = {
    deploymentId,
    workloadId,
    host: '127.0.0.1',
    port,
    startedAtMs: core.deps.clock.now(),
    ...(image !== null && { image }),
    ...(stack !== null && parts !== undefined && { service: stack.main, parts }),
  };
  core.save({ run: { ...leaving(core, run, 'next'), seq, next } });
  core.endAll();
  return next;
}

/** Ends the live instance before the next begins, because they would share their volumes. */
export function makeRoom(core: AppCore, deploymentId: string): void {
  if (!core.wants(deploymentId)) return;
  const { run } = core.require();
  core.save({ run: leaving(core, leaving(core, run, 'live'), 'next') });
  core.endAll();
}

/** Gives a healthy instance the traffic; false when it is not wanted any more. `counted`: its ends before. */
export function goLive(
  core: AppCore,
  { workloadId }: Instance,
  { host, port, startedAtMs }: { host: string; port: number; startedAtMs: number },
  counted: AppCrashes['counted'],
): boolean {
  const { run, liveDeploymentId } = core.require();
  const { next, crashes: before, ...rest } = run;
  if (next?.workloadId !== workloadId) return false;
  const elsewhere = port !== next.port && { targetPort: port };
  const live = { ...next, host, ...elsewhere, startedAtMs };
  const stopAtMs = core.deps.clock.now() + core.deps.options.drainMs;
  const draining = run.live === null ? run.draining : [...run.draining, { ...run.live, stopAtMs }];
  const crashes = crashesOf(before, counted, live.deploymentId === liveDeploymentId);
  core.save({
    run: { ...rest, live, next: null, draining, crashing: false, ...(crashes && { crashes }) },
    liveDeploymentId: live.deploymentId,
    desired: 'running',
  });
  core.endAll();
  return true;
}

/** `run` without its live or next instance, which is to end at once. */
export function leaving(core: AppCore, run: AppRun, which: 'live' | 'next'): AppRun {
  const instance = run[which];
  if (instance === null) return run;
  const draining = [...run.draining, { ...instance, stopAtMs: core.deps.clock.now() }];
  return { ...run, [which]: null, draining };
}

function notice(core: AppCore, workload: Workload, ensureRunning: () => void): void {
  if (!workloadsOf(core.record?.run.live).includes(workload.spec.id)) return;
  noticeLive(core, workload, ensureRunning);
}

function noticeLive(core: AppCore, workload: Workload, ensureRunning: () => void): void {
  const crashes = countEnd(core, workload);
  const { run } = core.require();
  const ended = { ...run, ...(crashes && { crashes, crashing: true }) };
  if (workload.state.phase !== 'ended' && workload.state.portTaken === true) {
    const text = 'Another program listens on the port of the app. It is started on another one.';
    core.context.afterCommit(() => core.deps.streams.write(core.logOf(workload.spec.id), text));
    loseLive(core, ended, ensureRunning);
    return;
  }
  switch (workload.state.phase) {
    case 'running':
      core.care.follow(workload.spec.id);
      if (crashes !== null) core.save({ run: ended });
      if (ended.crashing && run.live !== null) recheck(core, run.live.workloadId);
      return;
    case 'waiting':
      if (crashes !== null || !run.crashing) core.save({ run: { ...ended, crashing: true } });
      return;
    case 'ended':
      loseLive(core, ended, ensureRunning);
  }
}

function loseLive(core: AppCore, run: AppRun, ensureRunning: () => void): void {
  core.deps.logger.warn({ app: core.id, workload: run.live?.workloadId }, 'app_lost');
  core.save({ run: leaving(core, run, 'live') });
  core.endAll();
  ensureRunning();
}

/** The app is well again once the instance that crashed listens again. */
function recheck(core: AppCore, workloadId: string): void {
  core.care.recheck(workloadId, {
    recovered: (startedAtMs) => {
      const run = core.record?.run;
      if (run?.live?.workloadId !== workloadId || !run.crashing) return;
      core.save({ run: { ...run, live: { ...run.live, startedAtMs }, crashing: false } });
    },
  });
}

/** Whether the app should run, could run, and does not. */
export function isMissing(app: AppRecord): boolean {
  return (
    app.deletedAtMs === null &&
    app.desired === 'running' &&
    app.run.live === null &&
    app.liveDeploymentId !== null
  );
}
