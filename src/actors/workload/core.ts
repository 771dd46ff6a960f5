/**
 * Owns the state of one app or database while its actor is active: its record, and the care of its
 * workloads.
 *
 * 1. The state in memory is committed or being committed. Every change goes through `save`, which also
 *    derives the status.
 * 2. Work that outlives a message changes the state only by reports.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { LogName } from '../../logs/files/log.ts';
import { type Change, insert, put, type Table } from '../../store/records/table.ts';
import type { MoveRecord } from '../../store/records/records.ts';
import type { Resources, WorkloadSpec } from '../../protocol/workload.ts';
import { localServerId } from '../../places/local-place.ts';
import type { Machine, Place } from '../../places/place.ts';
import type { ActorContext, Protocol } from '../runtime/actor.ts';
import type { HeldFor } from '../restore/held.ts';
import type { WorkloadDeps } from './deps.ts';
import { freeUid } from './free-uid.ts';
import { WorkloadCare, type WayOut } from './workload-care.ts';

export interface WorkloadRecord {
  id: string;
  teamId: string;
  serverId: string;
  name: string;
  folderId: string | null;
  status: string;
  desired: 'running' | 'stopped';
  uid: number;
  resources: Resources;
  updatedAtMs: number;
  deletedAtMs: number | null;
  move?: MoveRecord;
}

/** What an actor is given, with the place of this server. */
export type DepsAt<D> = (serverId: string) => D;

export interface WorkloadKind<R> {
  name: 'app' | 'database';
  table: Table<R, 'uid'>;
}

export interface Leaver extends Omit<WayOut, 'gone'> {
  workloadId: string;
}

// Another actor may take the uid, or another unique value, between the look-up and the commit.
const attemptsMax = 50;
/** This many tries take the next free uid; after that each tries a place of its own. */
const attemptsInOrder = 8;
const spreadBitsMax = 12;

export abstract class WorkloadCore<
  R extends WorkloadRecord,
  P extends Protocol,
  D extends WorkloadDeps,
> {
  readonly context: ActorContext<P>;
  readonly #depsAt: DepsAt<D>;
  readonly id: string;
  readonly kind: WorkloadKind<R>;
  readonly care: WorkloadCare;
  #record: R | null;
  #serverId: string;
  #durable: Promise<void> = Promise.resolve();
  #heldFor: HeldFor | null = null;

  constructor(context: ActorContext<P>, depsAt: DepsAt<D>, kind: WorkloadKind<R>) {
    this.context = context;
    this.#depsAt = depsAt;
    this.id = context.ref.id;
    this.kind = kind;
    const here = depsAt(localServerId);
    this.#record = here.reader.get(kind.table, this.id) ?? null;
    this.#serverId = this.#record?.serverId ?? localServerId;
    this.care = new WorkloadCare(this);
  }

  /** With the place that it is at. */
  get deps(): D {
    return this.#depsAt(this.#serverId);
  }

  /** The machine that it is on. Rejects with AGENT_UNREACHABLE. */
  machine(): Promise<Machine> {
    return this.deps.place.machine();
  }

  placeAt(serverId: string): Place {
    return this.#depsAt(serverId).place;
  }

  /** Says where it is to be, before it has a record. */
  goTo(serverId: string): void {
    if (this.#record === null) this.#serverId = serverId;
  }

  protected abstract statusOf(record: R): R['status'];
  abstract logOf(workloadId: string): LogName;
  protected abstract get leavers(): readonly Leaver[];
  /** The changes of its record when the driver has forgotten this workload. */
  protected abstract without(record: R, workloadId: string): Partial<R>;
  protected abstract logsOf(record: R): readonly LogName[];

  /** The record, even in trash; null when there is none. */
  get record(): R | null {
    return this.#record;
  }

  /** The record, unless it is in trash; else NOT_FOUND. */
  require(): R {
    if (this.#record === null || this.#record.deletedAtMs !== null) throw this.#notFound();
    return this.#record;
  }

  get uid(): number | null {
    const uid = this.#record?.uid ?? 0;
    return uid > 0 ? uid : null;
  }

  /** Resolves when the latest `save` is durable. */
  get durable(): Promise<void> {
    return this.#durable;
  }

  /** What has it for itself: nothing else builds, starts or stops it. */
  get heldFor(): HeldFor | null {
    return this.#heldFor;
  }

  get isHeld(): boolean {
    return this.#heldFor !== null;
  }

  hold(holder: HeldFor = 'restore'): void {
    this.#heldFor = holder;
  }

  letGo(): void {
    this.#heldFor = null;
  }

  get isWanted(): boolean {
    return this.#record?.desired === 'running' && this.#record.deletedAtMs === null;
  }

  /**
   * Commits its first record, with a uid of its own, and other changes. `recordFor` is told how many free
   * places to leave to others that are made at the same time. CONFLICT when the record exists.
   */
  async create(recordFor: (past: number) => R, changes: readonly Change[] = []): Promise<R> {
    const { reader } = this.deps;
    const { table, name } = this.kind;
    const { uids } = await this.machine();
    for (let attempt = 1; ; attempt++) {
      const past = placesPast(this.id, attempt);
      const uid = await freeUid(reader, table, uids?.[name] ?? null, past);
      const record = { ...recordFor(past), uid };
      try {
        await this.context.commit([insert(table, record), ...changes]);
        this.adopt(record);
        return record;
      } catch (error) {
        const refused = error instanceof ServiceError && error.code === 'CONFLICT';
        if (!refused || attempt >= attemptsMax) throw error;
      }
    }
  }

  save(patch: Partial<R> | Partial<WorkloadRecord>, changes: readonly Change[] = []): R {
    if (this.#record === null) throw this.#notFound();
    const changed = { ...this.#record, ...patch, updatedAtMs: this.deps.clock.now() };
    const record = { ...changed, status: this.statusOf(changed) };
    this.#record = record;
    this.#serverId = record.serverId;
    this.#durable = this.context.commit([put(this.kind.table, record), ...changes]);
    return record;
  }

  /** What the driver is asked to run; a missing field means none, or the default. */
  spec(
    own: Pick<WorkloadSpec, 'id' | 'kind' | 'command' | 'env'> & Partial<WorkloadSpec>,
  ): WorkloadSpec {
    return {
      owner: this.id,
      team: this.require().teamId,
      workingDir: '',
      uid: null,
      port: null,
      container: null,
      resources: this.require().resources,
      deadlineMs: null,
      stopGraceMs: this.deps.options.stopGraceMs,
      ...own,
    };
  }

  /** Ends every workload that is leaving. */
  endAll(): void {
    for (const { workloadId, ...way } of this.leavers) {
      this.care.end(workloadId, { ...way, gone: () => this.#forget(workloadId) });
    }
  }

  #forget(workloadId: string): void {
    if (this.#record === null) return;
    this.save(this.without(this.#record, workloadId));
    this.endLogsOfDeleted();
  }

  /** The logs of a deleted app or database end when its last workload has ended. */
  endLogsOfDeleted(): void {
    if (this.#record?.deletedAtMs == null || this.leavers.length > 0) return;
    const logs = this.logsOf(this.#record);
    this.context.afterCommit(() => {
      for (const log of logs) this.deps.streams.end(log);
    });
  }

  /** Takes a record that was just committed as the state. */
  adopt(record: R | null): void {
    this.#record = record;
    if (record !== null) this.#serverId = record.serverId;
  }

  #notFound(): ServiceError {
    return new ServiceError('NOT_FOUND', `No such ${this.kind.name}.`);
  }
}

function placesPast(id: string, attempt: number): number {
  if (attempt <= attemptsInOrder) return 0;
  const chance = Buffer.from(id).reduce((sum, byte) => (sum * 31 + byte) % 65_521, 7);
  return chance % 2 ** Math.min(attempt, spreadBitsMax);
}
