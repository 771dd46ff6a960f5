/** Owns what of the backups is taken up at start, or behind a set clock, besides the alarms of their schedules. */
import type { Clock } from '../../lib/clock.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actors } from '../runtime/actor.ts';
import { backupsActor } from './protocol.ts';
import { alarmName, planned } from './schedules.ts';

export interface WakeBackupsOptions {
  reader: Reader;
  clock: Clock;
  actors: Pick<Actors, 'tell'>;
}

/** Wakes targets with open runs, and those whose schedules have to be planned anew. */
export function wakeBackups(options: WakeBackupsOptions): void {
  const open = options.reader.list(tables.backupRuns, 'open', [], { limit: Infinity });
  for (const targetId of new Set(open.map((run) => run.targetId))) {
    options.actors.tell(backupsActor.at(targetId), { type: 'wake' });
  }
  wakeSchedules(options);
}

/** Has those planned anew that wait for no alarm, or for a time that a set clock took away. Throws MAILBOX_FULL. */
export function wakeSchedules({ reader, clock, actors }: WakeBackupsOptions): void {
  for (const schedule of reader.scan(tables.backupSchedules)) {
    const target = backupsActor.at(schedule.targetId);
    const { nextRunAtMs } = planned(schedule, clock.now());
    if (nextRunAtMs === null) continue;
    const waits = (schedule.nextRunAtMs ?? Infinity) <= nextRunAtMs;
    const alarm = [`${target.kind}:${target.id}`, alarmName(schedule.id)];
    if (waits && reader.get(tables.alarms, alarm) !== undefined) continue;
    actors.tell(target, { type: 'replan', scheduleId: schedule.id });
  }
}
