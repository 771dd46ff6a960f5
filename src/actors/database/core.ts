/**
 * Owns the state of one database while its actor is active: the record, and the work under way.
 *
 * 1. What is in memory is what was committed or is being committed; every change goes through
 *    `save`, which also derives the status.
 * 2. Work that outlives a message changes state by reports alone.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { DatabaseRecord, DatabaseStatus } from '../../store/records/records.ts';
import { put } from '../../store/records/table.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorContext } from '../runtime/actor.ts';
import { WorkloadCare } from '../workload/workload-care.ts';
import type { DatabaseParts } from './deps.ts';
import type { Engine } from './engines/engine.ts';
import type { DatabaseMessages } from './internal.ts';
import { DatabasePlace } from './running/places.ts';
import { openPasswords } from './settings/secrets.ts';
import type { Passwords } from './settings/secrets.ts';

export class DatabaseCore {
  readonly context: ActorContext<DatabaseMessages>;
  readonly deps: DatabaseParts;
  readonly id: string;
  readonly care: WorkloadCare;
  /** The start under way. */
  work: AbortController | null = null;
  /** Resolves when the latest start has let go of everything, which one that is aborted does soon. */
  settled: Promise<void> = Promise.resolve();
  /** Workloads whose end is under way. */
  readonly busy = new Set<string>();
  /** The latest end of the live server by itself that nothing newer was asked about; null: none. */
  exitedAtMs: number | null = null;
  /** Which end of the live server was told last. */
  toldEnd: string | null = null;
  #record: DatabaseRecord | null;

  constructor(context: ActorContext<DatabaseMessages>, deps: DatabaseParts) {
    this.context = context;
    this.deps = deps;
    this.id = context.ref.id;
    this.#record = deps.reader.get(tables.databases, this.id) ?? null;
    const { driver, streams, clock, logger } = deps;
    this.care = new WorkloadCare({
      owner: this.id,
      log: `db:${this.id}`,
      driver,
      streams,
      clock,
      logger,
      context,
    });
  }

  /** The record, also of a database in trash; null when there is none. */
  get record(): DatabaseRecord | null {
    return this.#record;
  }

  /** The record of a database that is not in trash; else NOT_FOUND. */
  require(): DatabaseRecord {
    if (this.#record === null || this.#record.deletedAtMs !== null) {
      throw new ServiceError('NOT_FOUND', 'No such database.');
    }
    return this.#record;
  }

  get engine(): Engine {
    if (this.#record === null) throw new ServiceError('NOT_FOUND', 'No such database.');
    return this.deps.engines[this.#record.engine];
  }

  get uid(): number | null {
    const uid = this.#record?.uid ?? 0;
    return uid > 0 ? uid : null;
  }

  get place(): DatabasePlace {
    return new DatabasePlace(this.deps.options.root, this.id, this.uid);
  }

  get passwords(): Passwords {
    return openPasswords(this.deps.secrets, this.require());
  }

  save(patch: Partial<DatabaseRecord>, changes: readonly Change[] = []): DatabaseRecord {
    const { record } = this.#commit(patch, changes);
    return record;
  }

  /** As `save`; resolves once it is durable. */
  async saved(patch: Partial<DatabaseRecord>, changes: readonly Change[] = []): Promise<void> {
    await this.#commit(patch, changes).durable;
  }

  #commit(
    patch: Partial<DatabaseRecord>,
    changes: readonly Change[],
  ): { record: DatabaseRecord; durable: Promise<void> } {
    if (this.#record === null) throw new ServiceError('NOT_FOUND', 'No such database.');
    const changed = { ...this.#record, ...patch, updatedAtMs: this.deps.clock.now() };
    const record = { ...changed, status: statusOf(changed) };
    this.#record = record;
    const durable = this.context.commit([put(tables.databases, record), ...changes]);
    return { record, durable };
  }

  /** Takes a record that was just committed as the state. */
  adopt(record: DatabaseRecord | null): void {
    this.#record = record;
  }

  /** Whether the start under way is still wanted. */
  get isStarting(): boolean {
    return this.isWanted && this.work !== null && !this.work.signal.aborted;
  }

  /** Whether it should run, as far as people are concerned. */
  get isWanted(): boolean {
    return this.#record?.desired === 'running' && this.#record.deletedAtMs === null;
  }
}

function statusOf({ deletedAtMs, desired, run, error }: DatabaseRecord): DatabaseStatus {
  if (deletedAtMs !== null || desired === 'stopped') return 'stopped';
  if (run.live !== null) return run.crashing ? 'error' : 'running';
  return error === null ? 'provisioning' : 'error';
}
