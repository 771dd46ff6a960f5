/**
 * Owns the messages of the `backups` actor, of which each app, each database and the instance has one, with its
 * id: the only way to change its runs and its schedules. The sender's rights were checked before; the actor checks the
 * state.
 */
import type { BackupRunRecord, BackupScheduleRecord } from '../../store/records/records.ts';
import { type Actor, actorKind } from '../runtime/actor.ts';

export interface NewSchedule {
  destinationId: string;
  cron: string;
  timezone: string;
  keep: number;
}

/** By which the instance itself is addressed, and stands in its runs and schedules. */
export const instanceTarget = 'instance';

/** Null: it stays as it is. */
export interface ScheduleChange {
  cron: string | null;
  timezone: string | null;
  keep: number | null;
  enabled: boolean | null;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type BackupsProtocol = {
  /** Begins a run. NOT_FOUND; ENCRYPTION_REQUIRED; BACKUP_RUNNING while one to the same destination is under way. */
  run: { in: { destinationId: string }; out: BackupRunRecord };
  /** False when it had ended. It is canceled once nothing of it is left. */
  cancel: { in: { runId: string }; out: boolean };
  /** Removes an ended run with its artifact. RUN_NOT_FINISHED, and the errors of the destination. */
  'run-delete': { in: { runId: string }; out: boolean };
  /** BAD_USER_INPUT; NOT_FOUND; ENCRYPTION_REQUIRED; CONFLICT when there are too many. */
  'schedule-create': { in: { schedule: NewSchedule }; out: BackupScheduleRecord };
  'schedule-update': {
    in: { scheduleId: string; change: ScheduleChange };
    out: BackupScheduleRecord;
  };
  'schedule-delete': { in: { scheduleId: string }; out: boolean };
  /** An alarm: a schedule is due. `dueAtMs` is the time by its cron. */
  due: { in: { scheduleId: string; dueAtMs: number }; out: boolean };
  /** An alarm: tries again to remove what could not be removed. */
  clean: { in: object; out: boolean };
  /** At start: takes up what an earlier process left. */
  wake: { in: object; out: boolean };
  /** A schedule waits for too long, because the clock was set back, or for no alarm. */
  replan: { in: { scheduleId: string }; out: boolean };
};

/** The handlers of one concern. */
export type Handlers = Partial<Actor<BackupsProtocol>>;

export const backupsActor = actorKind<BackupsProtocol>('backups');
