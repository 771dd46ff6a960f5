/**
 * Owns the state of one app or database while its actor is active: its record, and what sees to its
 * workloads.
 *
 * 1. What is in memory is what was committed or is being committed. Every change goes through `save`,
 *    which also derives the status.
 * 2. Work that outlives a message changes state by reports alone.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { LogName } from '../../logs/files/log.ts';
import { put } from '../../store/records/table.ts';
import type { Change, Table } from '../../store/records/table.ts';
import type { ActorContext, Protocol } from '../runtime/actor.ts';
import type { WorkloadDeps } from './deps.ts';
import type { FreeUids } from './free-uids.ts';
import { WorkloadCare } from './workload-care.ts';

/** What the records of apps and of databases have in common. */
export interface WorkloadRecord {
  id: string;
  teamId: string;
  name: string;
  folderId: string | null;
  status: string;
  desired: 'running' | 'stopped';
  uid: number;
  updatedAtMs: number;
  deletedAtMs: number | null;
}

export interface WorkloadKind<R> {
  name: 'app' | 'database';
  table: Table<R>;
  /** The log of its workloads, but for those that have one of their own. */
  log: LogName;
  logOf?: (workloadId: string) => LogName | undefined;
}

export abstract class WorkloadCore<
  R extends WorkloadRecord,
  P extends Protocol,
  D extends WorkloadDeps & { uids: FreeUids<R> },
> {
  readonly context: ActorContext<P>;
  readonly deps: D;
  readonly id: string;
  readonly kind: WorkloadKind<R>;
  readonly care: WorkloadCare;
  #record: R | null;

  constructor(context: ActorContext<P>, deps: D, kind: WorkloadKind<R>) {
    this.context = context;
    this.deps = deps;
    this.id = context.ref.id;
    this.kind = kind;
    this.#record = deps.reader.get(kind.table, this.id) ?? null;
    const { driver, streams, clock, logger } = deps;
    const { log, logOf } = kind;
    const owner = this.id;
    this.care = new WorkloadCare({
      ...{ owner, log, driver, streams, clock, logger, context },
      ...(logOf && { logOf }),
    });
  }

  protected abstract statusOf(record: R): R['status'];

  /** The record, also of what is in trash; null when there is none. */
  get record(): R | null {
    return this.#record;
  }

  /** The record of what is not in trash; else NOT_FOUND. */
  require(): R {
    if (this.#record === null || this.#record.deletedAtMs !== null) throw this.#notFound();
    return this.#record;
  }

  get uid(): number | null {
    const uid = this.#record?.uid ?? 0;
    return uid > 0 ? uid : null;
  }

  /** Whether people want it to run. */
  get isWanted(): boolean {
    return this.#record?.desired === 'running' && this.#record.deletedAtMs === null;
  }

  save(patch: Partial<R> | Partial<WorkloadRecord>, changes: readonly Change[] = []): R {
    return this.#commit(patch, changes).record;
  }

  /** As `save`; resolves once it is durable. */
  async saved(
    patch: Partial<R> | Partial<WorkloadRecord>,
    changes: readonly Change[] = [],
  ): Promise<void> {
    await this.#commit(patch, changes).durable;
  }

  #commit(
    patch: Partial<R> | Partial<WorkloadRecord>,
    changes: readonly Change[],
  ): { record: R; durable: Promise<void> } {
    if (this.#record === null) throw this.#notFound();
    const changed = { ...this.#record, ...patch, updatedAtMs: this.deps.clock.now() };
    const record = { ...changed, status: this.statusOf(changed) };
    this.#record = record;
    return { record, durable: this.context.commit([put(this.kind.table, record), ...changes]) };
  }

  /** Takes a record that was just committed as the state. */
  adopt(record: R | null): void {
    this.#record = record;
  }

  #notFound(): ServiceError {
    return new ServiceError('NOT_FOUND', `No such ${this.kind.name}.`);
  }
}
