/**
 * Owns the schedules of a target.
 *
 * 1. An alarm stands for the next time of each enabled schedule. What is due while the service is down is due
 *    once at its start.
 * 2. A run and the alarm of the time behind it are one commit: no time is served twice, and none is lost.
 * 3. A run that is due while one of its schedule is under way is passed over, and stands among the runs as
 *    canceled.
 */
import { checkedCron, jitterOf, nextDue } from '../../backups/schedules/cron.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { BackupScheduleRecord } from '../../store/records/records.ts';
import { type Change, insert, put, remove, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Backups } from './backups.ts';
import type { BackupsProtocol, Handlers } from './protocol.ts';
import type { Runs } from './runs.ts';

const words = { app: 'An app', database: 'A database', instance: 'The instance' } as const;
const keepMax = 1_000;
/** A clock that was wrong by more than this does not hold up a schedule. */
const setBackMaxMs = 24 * 3_600_000;

export function scheduleHandlers(backups: Backups, runs: Runs) {
  const { context, deps, target } = backups;
  const { reader, clock, options } = deps;
  const save = async (schedule: BackupScheduleRecord): Promise<BackupScheduleRecord> => {
    await context.commit([put(tables.backupSchedules, schedule), alarmOf(backups, schedule)]);
    return schedule;
  };
  return {
    'schedule-create': async ({ schedule: given }) => {
      backups.requireDestination(given.destinationId);
      const nowMs = clock.now();
      const count = reader.count(tables.backupSchedules, 'target', [target.targetId]);
      if (count >= options.schedulesMax) {
        const detail = `${words[target.kind]} has at most ${String(options.schedulesMax)} schedules.`;
        throw new ServiceError('CONFLICT', detail);
      }
      const times = checkedCron(given, nowMs);
      const schedule: BackupScheduleRecord = {
        id: newId('sch', nowMs),
        teamId: backups.teamAt(given.destinationId),
        ...target,
        destinationId: given.destinationId,
        ...times,
        keep: checkedKeep(given.keep),
        enabled: true,
        nextRunAtMs: nextDue(times, nowMs),
        lastDueAtMs: null,
        createdAtMs: nowMs,
      };
      await context.commit([insert(tables.backupSchedules, schedule), alarmOf(backups, schedule)]);
      return schedule;
    },
    'schedule-update': ({ scheduleId, change }) => {
      const before = backups.schedule(scheduleId);
      const { cron, timezone, keep, enabled } = change;
      const given = { cron: cron ?? before.cron, timezone: timezone ?? before.timezone };
      const nowMs = clock.now();
      const isAsBefore = cron === null && timezone === null;
      const times = isAsBefore ? given : checkedCron(given, nowMs);
      const after: BackupScheduleRecord = {
        ...before,
        ...times,
        keep: keep === null ? before.keep : checkedKeep(keep),
        enabled: enabled ?? before.enabled,
      };
      const isPlanned = after.enabled === before.enabled && (isAsBefore || isDue(before, nowMs));
      return save(isPlanned ? after : planned(after, nowMs));
    },
    'schedule-delete': async ({ scheduleId }) => {
      backups.schedule(scheduleId);
      await context.commit([
        take(tables.backupSchedules, scheduleId),
        context.clearAlarm(alarmName(scheduleId)),
      ]);
      return true;
    },
    due: (message) => due(backups, runs, message),
    replan: async ({ scheduleId }) => {
      const schedule = reader.get(tables.backupSchedules, scheduleId);
      if (schedule?.enabled !== true) return false;
      const nowMs = clock.now();
      await save(isDue(schedule, nowMs) ? schedule : planned(schedule, nowMs));
      return true;
    },
  } satisfies Handlers;
}

/** Begins the run that is due, or passes it over. Resolves with whether one began. */
async function due(
  backups: Backups,
  runs: Runs,
  { scheduleId, dueAtMs }: BackupsProtocol['due']['in'],
): Promise<boolean> {
  const { context, deps, record } = backups;
  const before = deps.reader.get(tables.backupSchedules, scheduleId);
  // It may have been changed while this alarm was on its way.
  if (before?.enabled !== true || before.nextRunAtMs !== dueAtMs) return false;
  if (record === undefined) {
    await context.commit([remove(tables.backupSchedules, scheduleId)]);
    return false;
  }
  const schedule = planned({ ...before, lastDueAtMs: dueAtMs }, deps.clock.now());
  const changes = [put(tables.backupSchedules, schedule), alarmOf(backups, schedule)];
  const own = { scheduleId, destinationId: schedule.destinationId };
  if (record.deletedAtMs !== null) {
    await context.commit(changes);
    return false;
  }
  if (await runs.skip(own, changes)) return false;
  await runs.begin(own, changes);
  return true;
}

/** The schedule with its next time: none that was served already, though a clock be set back. */
export function planned(schedule: BackupScheduleRecord, nowMs: number): BackupScheduleRecord {
  const { enabled, lastDueAtMs } = schedule;
  const served = lastDueAtMs ?? nowMs;
  const fromMs = served - nowMs > setBackMaxMs ? nowMs : Math.max(nowMs, served);
  return { ...schedule, nextRunAtMs: enabled ? nextDue(schedule, fromMs) : null };
}

function alarmOf({ context, deps }: Backups, schedule: BackupScheduleRecord): Change {
  const { id: scheduleId, nextRunAtMs: dueAtMs } = schedule;
  const name = alarmName(scheduleId);
  if (dueAtMs === null) return context.clearAlarm(name);
  const atMs = dueAtMs + jitterOf(scheduleId, schedule, dueAtMs, deps.options.jitterMs);
  return context.alarm(name, atMs, { type: 'due', scheduleId, dueAtMs });
}

/** Whether a run of it waits for its share of the jitter, or for Gangway to start. */
function isDue({ nextRunAtMs }: BackupScheduleRecord, nowMs: number): boolean {
  return nextRunAtMs !== null && nextRunAtMs <= nowMs;
}

export function alarmName(scheduleId: string): string {
  return `due:${scheduleId}`;
}

function checkedKeep(keep: number): number {
  if (Number.isInteger(keep) && keep >= 1 && keep <= keepMax) return keep;
  const range = `1 to ${String(keepMax)}`;
  throw new ServiceError('BAD_USER_INPUT', `keep: ${String(keep)} is not one of ${range}.`);
}
