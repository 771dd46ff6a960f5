/** Owns the state of one database while its actor is active, and its start under way. */
import { ServiceError } from '../../lib/errors.ts';
import type { DatabaseRecord, DatabaseStatus } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { LogName } from '../../logs/files/log.ts';
import type { ActorContext } from '../runtime/actor.ts';
import type { DatabaseFiles } from '../../places/place.ts';
import { type DepsAt, type Leaver, WorkloadCore } from '../workload/core.ts';
import type { DatabaseDeps } from './deps.ts';
import type { Engine } from './engines/engine.ts';
import type { DatabaseProtocol } from './protocol.ts';
import { openPasswords, type Passwords } from './settings/secrets.ts';

export class DatabaseCore extends WorkloadCore<DatabaseRecord, DatabaseProtocol, DatabaseDeps> {
  #start: AbortController | null = null;
  #beside: string | null = null;

  constructor(context: ActorContext<DatabaseProtocol>, depsAt: DepsAt<DatabaseDeps>) {
    super(context, depsAt, { name: 'database', table: tables.databases });
  }

  get engine(): Engine {
    if (this.record === null) throw new ServiceError('NOT_FOUND', 'No such database.');
    return this.deps.engines[this.record.engine];
  }

  /** Its files where it runs. Rejects with AGENT_UNREACHABLE. */
  async files(): Promise<DatabaseFiles> {
    return (await this.machine()).database({ id: this.id, uid: this.uid });
  }

  get passwords(): Passwords {
    return openPasswords(this.deps.secrets, this.require());
  }

  /** Whether a start is under way, even an aborted one. */
  get hasStart(): boolean {
    return this.#start !== null;
  }

  /** Whether the start under way is still wanted. */
  get isStarting(): boolean {
    return this.isWanted && this.#start?.signal.aborted === false;
  }

  /** The signal aborts when the start is no longer wanted, or this activation ends. */
  beginStart(): AbortSignal {
    this.#start = new AbortController();
    return AbortSignal.any([this.context.signal, this.#start.signal]);
  }

  /** Aborts the start under way, once the change is durable. */
  abortStart(): void {
    const start = this.#start;
    this.context.afterCommit(() => start?.abort(new Error('stopped')));
  }

  endStart(): void {
    this.#start = null;
  }

  /** The workload that a restore runs beside the live one; null: none. */
  get beside(): string | null {
    return this.#beside;
  }

  enterBeside(workloadId: string): void {
    this.#beside = workloadId;
  }

  leaveBeside(): void {
    this.#beside = null;
  }

  protected get leavers(): Leaver[] {
    return (this.record?.run.ending ?? []).map((workloadId) => ({ workloadId }));
  }

  protected without({ run }: DatabaseRecord, workloadId: string): Partial<DatabaseRecord> {
    return { run: { ...run, ending: run.ending.filter((id) => id !== workloadId) } };
  }

  logOf(): LogName {
    return `db:${this.id}`;
  }

  protected logsOf(): LogName[] {
    return [this.logOf()];
  }

  protected statusOf({ deletedAtMs, desired, run, error }: DatabaseRecord): DatabaseStatus {
    if (deletedAtMs !== null || desired === 'stopped') return 'stopped';
    if (run.live !== null) return run.crashing ? 'error' : 'running';
    return error === null ? 'provisioning' : 'error';
  }
}
