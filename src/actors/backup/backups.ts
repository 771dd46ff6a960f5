/** Owns what all handlers of a target's backups use: its records, and how they are changed. */
import { ServiceError } from '../../lib/errors.ts';
import type {
  AppRecord,
  BackupRunRecord,
  BackupScheduleRecord,
  BackupTarget,
  DatabaseRecord,
  RestoreRunRecord,
} from '../../store/records/records.ts';
import { type Change, put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorContext } from '../runtime/actor.ts';
import type { BackupDeps } from './deps.ts';
import { type BackupsProtocol, instanceTarget } from './protocol.ts';

/** Is always there, and of no team. */
const theInstance = { id: instanceTarget, name: 'instance', deletedAtMs: null } as const;

export type TargetRecord = Readonly<AppRecord> | Readonly<DatabaseRecord> | typeof theInstance;

export class Backups {
  readonly context: ActorContext<BackupsProtocol>;
  readonly deps: BackupDeps;
  readonly target: BackupTarget;

  constructor(context: ActorContext<BackupsProtocol>, deps: BackupDeps) {
    this.context = context;
    this.deps = deps;
    const targetId = context.ref.id;
    this.target = { kind: kindOf(targetId), targetId };
  }

  /** The app or database, even in trash. */
  get record(): TargetRecord | undefined {
    const { kind, targetId } = this.target;
    const { reader } = this.deps;
    switch (kind) {
      case 'app':
        return reader.get(tables.apps, targetId);
      case 'database':
        return reader.get(tables.databases, targetId);
      case 'instance':
        return theInstance;
    }
  }

  /** The app or database, unless it is in trash, else NOT_FOUND, or a preview, else CONFLICT. */
  require(): TargetRecord {
    const { record } = this;
    if (record !== undefined && 'previewOf' in record) {
      throw new ServiceError('CONFLICT', 'A preview has no backups.');
    }
    if (record?.deletedAtMs === null) return record;
    throw new ServiceError('NOT_FOUND', `No such ${this.target.kind}.`);
  }

  /** The team that its backups there belong to. NOT_FOUND for a destination of another team, too. */
  teamAt(destinationId: string): string {
    const record = this.require();
    const teamId = this.deps.teamOfDestination(destinationId);
    const isOwn = !('teamId' in record) || record.teamId === teamId;
    if (teamId !== null && isOwn) return teamId;
    throw new ServiceError('NOT_FOUND', 'No such destination.');
  }

  /** NOT_FOUND; ENCRYPTION_REQUIRED. */
  requireDestination(destinationId: string): void {
    this.teamAt(destinationId);
    if (this.target.kind !== 'instance') return;
    if (!this.deps.openDestination(destinationId).encrypts) throw notEncrypted();
  }

  /** NOT_FOUND for a run of another target, too. */
  run(id: string): Readonly<BackupRunRecord> {
    const run = this.deps.reader.get(tables.backupRuns, id);
    if (run?.targetId === this.target.targetId) return run;
    throw new ServiceError('NOT_FOUND', 'No such backup.');
  }

  /** NOT_FOUND for a schedule of another target, too. */
  schedule(id: string): Readonly<BackupScheduleRecord> {
    const schedule = this.deps.reader.get(tables.backupSchedules, id);
    if (schedule?.targetId === this.target.targetId) return schedule;
    throw new ServiceError('NOT_FOUND', 'No such schedule.');
  }

  /** The restores that have changed the target so far, by their ids. RESTORE_RUNNING while one does. */
  pastRestores(): ReadonlySet<string> {
    const touching = this.#touching();
    if (touching.some(({ finishedAtMs }) => finishedAtMs === null)) throw disturbed();
    return new Set(touching.map(({ id }) => id));
  }

  /** RESTORE_RUNNING where another restore than these changed the target: what was read of it is of two states. */
  mustBeUndisturbed(past: ReadonlySet<string>): void {
    if (this.#touching().some(({ id }) => !past.has(id))) throw disturbed();
  }

  #touching(): Readonly<RestoreRunRecord>[] {
    const { reader } = this.deps;
    const prefix = [this.target.targetId];
    const restores = reader.list(tables.restoreRuns, 'target', prefix, { limit: Infinity });
    return restores.filter(({ touchedAtMs }) => touchedAtMs !== undefined);
  }

  /** Runs that are under way, or left something, the oldest first. */
  openRuns(): Readonly<BackupRunRecord>[] {
    const { reader } = this.deps;
    return reader.list(tables.backupRuns, 'open', [this.target.targetId], { limit: Infinity });
  }

  /** Resolves when it is durable: only then do reads see it. */
  async saveRun(
    run: Readonly<BackupRunRecord>,
    patch: Partial<BackupRunRecord>,
    changes: readonly Change[] = [],
  ): Promise<BackupRunRecord> {
    const saved = { ...run, ...patch };
    await this.context.commit([put(tables.backupRuns, saved), ...changes]);
    return saved;
  }
}

function kindOf(targetId: string): BackupTarget['kind'] {
  if (targetId === instanceTarget) return 'instance';
  return targetId.startsWith('db_') ? 'database' : 'app';
}

function disturbed(): ServiceError {
  return new ServiceError('RESTORE_RUNNING', 'A restore replaces the data meanwhile.');
}

export function notEncrypted(): ServiceError {
  const detail =
    'A backup of the instance holds the secrets of all teams: it needs a destination that encrypts.';
  return new ServiceError('ENCRYPTION_REQUIRED', detail);
}

export function isUnderWay({ status }: Pick<BackupRunRecord, 'status'>): boolean {
  return status === 'running' || status === 'verifying';
}
