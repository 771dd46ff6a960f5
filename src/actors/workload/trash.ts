/**
 * Owns the way of an app or a database into trash, and out of it: back, or for ever. Its parts are removed
 * before its record, so that a failed removal can be requested again.
 */
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { type Change, insert, remove, removeAll } from '../../store/records/table.ts';
import type { TrashRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { filesAt, leftoverOf } from '../move/moved-files.ts';
import type { MessageOf, Protocol } from '../runtime/actor.ts';
import { checkNotHeld } from '../restore/held.ts';
import type { WorkloadCore, WorkloadRecord } from './core.ts';
import type { WorkloadDeps } from './deps.ts';

const retryMs = 10 * 60_000;
const alarmName = 'purge';

type PurgeProtocol = Protocol & { purge: { in: object; out: boolean } };

export interface TrashOptions<R> {
  /** Stops it, with this patch of its record and these changes. */
  stop: (patch: Pick<WorkloadRecord, 'desired' | 'deletedAtMs'>, changes: Change[]) => void;
  /** Removes everything but its record. Resolves with the changes that remove records of its parts. */
  empty: (record: R) => Promise<readonly Change[]>;
}

export interface TrashHandlers {
  delete: () => boolean;
  restore: () => boolean;
  purge: () => Promise<boolean>;
}

export function trashHandlers<
  R extends WorkloadRecord,
  P extends PurgeProtocol,
  D extends WorkloadDeps,
>(core: WorkloadCore<R, P, D>, { stop, empty }: TrashOptions<R>): TrashHandlers {
  const { context, deps, kind } = core;
  const { clock, reader } = deps;
  const message = { type: alarmName } as MessageOf<P>;
  const trashed = (): R => {
    const { record } = core;
    if (record !== null && record.deletedAtMs !== null) return record;
    throw new ServiceError('NOT_FOUND', `No such ${kind.name} in trash.`);
  };
  const findItem = (): Readonly<TrashRecord> | undefined =>
    reader.find(tables.trash, 'target', [core.id]);
  /** The changes that take it out of trash and remove its alarm. */
  const leave = (): Change[] => {
    const item = findItem();
    const cleared = context.clearAlarm(alarmName);
    return item === undefined ? [cleared] : [cleared, remove(tables.trash, item.id)];
  };
  /** Its backups stay: they are what it can be brought back from. */
  const schedules = (): Change[] =>
    removeAll(
      tables.backupSchedules,
      reader.list(tables.backupSchedules, 'target', [core.id], { limit: Infinity }),
    );
  const purge = async (): Promise<void> => {
    const record = trashed();
    const left = leftoverOf(record);
    // Once its record is gone nobody knows that there is any.
    if (left !== null) await (await filesAt(core, left)).remove();
    const parts = await empty(record);
    await context.commit([...parts, ...leave(), ...schedules(), remove(kind.table, core.id)]);
    core.adopt(null);
  };
  return {
    delete: () => {
      checkNotHeld(core);
      const { id: targetId, name, teamId } = core.require();
      const deletedAtMs = clock.now();
      const purgeAtMs = deletedAtMs + deps.options.trashMs;
      const id = newId('trs', deletedAtMs);
      const put = { id, teamId, kind: kind.name, targetId, name, deletedAtMs, purgeAtMs };
      stop({ desired: 'stopped', deletedAtMs }, [
        insert(tables.trash, put),
        context.alarm(alarmName, purgeAtMs, message),
      ]);
      core.endLogsOfDeleted();
      return true;
    },
    /** A restored app or database is stopped. */
    restore: () => {
      const { folderId } = trashed();
      // Its folder may have been deleted meanwhile.
      const isThere = folderId === null || reader.get(tables.folders, folderId) !== undefined;
      core.save({ deletedAtMs: null, ...(!isThere && { folderId: null }) }, leave());
      return true;
    },
    /**
     * When its time in trash is over and its server is away, the removal is tried again. A person who
     * wanted it sooner asks again, and its time stays.
     */
    purge: async () => {
      try {
        await purge();
        return true;
      } catch (error) {
        const item = findItem();
        const isDue = item !== undefined && item.purgeAtMs <= clock.now();
        if (isDue && error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE') {
          void context.commit([context.alarm(alarmName, clock.now() + retryMs, message)]);
        }
        throw error;
      }
    },
  };
}
