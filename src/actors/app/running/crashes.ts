/**
 * Owns crashes of an app's live instance: how they are counted, and what the app's log says of them.
 *
 * 1. Each crash counts once, even one that happened while the service was away: the driver counts restarts,
 *    and the last count seen is journaled.
 * 2. The app's log reports a crash once, even if the service dies in between. The line is in a stream of
 *    our own, which no app can write to.
 */
import type { Exit, Workload } from '../../../protocol/workload.ts';
import type { LogName } from '../../../logs/files/log.ts';
import type { AppCrashes, AppExit, Instance } from '../../../store/records/records.ts';
import { describeEnd, describeNext, endIn } from '../../workload/ends.ts';
import type { StreamNotice } from '../../../logs/live/log-streams.ts';
import { workloadsOf } from './containers.ts';
import type { AppCore } from '../core.ts';

type Counted = AppCrashes['counted'][number];

/** Ends within this time of each other count as a row. */
const rowMs = 5 * 60_000;
/** After a crash of the service, an end older than this is not reported any more. */
const retellMs = 10 * 60_000;
const noneSoFar: AppCrashes = { restarts: 0, last: null, counted: [] };

/** The crashes to keep when this instance takes the traffic; `counted` are its ends before that. */
export function crashesOf(
  before: AppCrashes | undefined,
  counted: readonly Counted[],
  isSameRelease: boolean,
): AppCrashes | undefined {
  const { restarts, last } = before ?? noneSoFar;
  const kept = isSameRelease ? restarts : 0;
  if (last === null && counted.length === 0 && kept === 0) return undefined;
  return { restarts: kept, last, counted: [...counted] };
}

/**
 * Counts what the driver reports of a workload of the live instance, and writes of it to the log once the
 * count is durable. Null when nothing is new. The caller saves the result.
 */
export function countEnd(core: AppCore, workload: Workload): AppCrashes | null {
  const { spec, state } = workload;
  const { run } = core.require();
  const before = run.crashes ?? noneSoFar;
  const known = before.counted.find(({ workloadId }) => workloadId === spec.id);
  const counted = known ?? { workloadId: spec.id, ends: 0, told: 0, atMs: 0 };
  const ended =
    state.phase === 'ended' ? { ends: counted.ends + 1, exit: state.exit } : endIn(state);
  if (ended === null) return null;
  const fresh = freshEnds(counted, ended);
  if (fresh === 0) return null;
  const { exit } = ended;
  const told = counted.told + fresh;
  const inRow =
    before.last !== null && exit.atMs - before.last.atMs < rowMs ? before.last.inRow : 0;
  const now = { workload, exit, fresh, restarts: before.restarts + fresh, inRow: inRow + fresh };
  const last: AppExit = {
    atMs: exit.atMs,
    code: exit.code,
    signal: exit.signal,
    reason: reasonOf(exit),
    workloadId: spec.id,
    log: core.logOf(spec.id),
    inRow: now.inRow,
    told,
    text: sentenceOf(core, now),
  };
  core.deps.logger.warn(
    { app: core.id, ...noticeOf(now, last), detail: exit.detail },
    'app_ended_by_itself',
  );
  tellSoon(core, last, noticeOf(now, last));
  const others = before.counted.filter(({ workloadId }) => workloadId !== spec.id);
  const next = { workloadId: spec.id, ends: ended.ends, told, atMs: exit.atMs };
  return { restarts: now.restarts, last, counted: [...others, next] };
}

/** Reports an end that an earlier activation may not have reported. */
export function retellEnd(core: AppCore): void {
  const { record: app, deps } = core;
  const last = app?.run.crashes?.last;
  if (!app || !last || deps.clock.now() - last.atMs > retellMs) return;
  const { live, draining } = app.run;
  const isHere = [live, ...draining].some((one) => workloadsOf(one).includes(last.workloadId));
  if (isHere) tell(core, last);
}

/** The ends of an instance's workloads before it takes the traffic. */
export async function endsBefore(core: AppCore, instance: Instance): Promise<Counted[]> {
  const { driver } = core.deps;
  const found = await Promise.all(workloadsOf(instance).map((id) => driver.inspect(id)));
  return found.flatMap((workload) => {
    const ended = workload && endIn(workload.state);
    if (!ended) return [];
    const { ends, exit } = ended;
    return [{ workloadId: workload.spec.id, ends, told: ends, atMs: exit.atMs }];
  });
}

/** A restarted daemon counts from zero. Then the time tells whether the end is a new one. */
function freshEnds(counted: Counted, { ends, exit }: { ends: number; exit: Exit }): number {
  if (ends > counted.ends) return ends - counted.ends;
  const mayBeAnew = ends < counted.ends || ends === 0;
  return mayBeAnew && exit.atMs > counted.atMs ? Math.max(1, ends) : 0;
}

function reasonOf({ cause, signal, reason }: Exit): AppExit['reason'] {
  if (cause !== undefined) return cause;
  return signal !== null || reason === 'lost' || reason === 'stopped' ? 'killed' : 'exited';
}

interface End {
  workload: Workload;
  exit: Exit;
  fresh: number;
  restarts: number;
  inRow: number;
}

function noticeOf(
  { workload: { state }, restarts }: End,
  { reason, code, signal, inRow, atMs }: AppExit,
): Extract<StreamNotice, { kind: 'crash' }> {
  const nextStartAtMs = state.phase === 'waiting' ? state.nextStartAtMs : null;
  return { kind: 'crash', reason, code, signal, restarts, inRow, nextStartAtMs, atMs };
}

function sentenceOf(core: AppCore, { workload, exit, fresh, restarts, inRow }: End): string {
  const unseen = fresh > 1 ? `The app ended ${String(fresh)} times, the last time so: ` : '';
  const row = inRow > 2 ? ` It ended ${String(inRow)} times in a row.` : '';
  const next = describeNext(workload.state, core.deps.clock.now());
  const count = `(restart ${String(restarts)} of this release)`;
  return `${unseen}${describeEnd(exit, 'The app')}${row} ${next} ${count}.`;
}

function tellSoon(core: AppCore, last: AppExit, notice: StreamNotice): void {
  core.context.afterCommit(() =>
    core.care.tellEnd(last.workloadId, () => {
      tell(core, last);
      core.deps.streams.notice(last.log as LogName, notice);
    }),
  );
}

function tell({ deps: { streams } }: AppCore, { log, text, workloadId, told }: AppExit): void {
  streams.write(log as LogName, text, { id: `${workloadId}!`, seq: told });
}
