/**
 * Owns all workloads of a data directory on behalf of whoever connects.
 *
 * 1. One workload an id, for ever: `start` of a known id starts nothing.
 * 2. What an earlier runner left is taken over at construction: found, ended, started again.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Workload as WorkloadView, WorkloadSpec } from '../../drivers/driver.ts';
import { killAll } from './ending.ts';
import { Output } from './output.ts';
import type { OutputOptions } from './output.ts';
import { FreePorts, probePort } from './ports.ts';
import { isWorkloadId } from './records.ts';
import type { Records, WorkloadRecord } from './records.ts';
import { Workload } from './workload.ts';
import type { Backoff } from './workload.ts';

export interface RunnerOptions {
  records: Records;
  /** Makes the marks of this data directory's workloads unlike those of any other. */
  instance: string;
  output: Omit<OutputOptions, 'dir'>;
  backoff: Backoff;
  clock: Clock;
  logger: Logger;
}

export class Runner {
  readonly #options: RunnerOptions;
  readonly #workloads = new Map<string, Workload>();
  readonly #removals = new Map<string, Promise<void>>();
  readonly #watchers = new Set<(workload: WorkloadView) => void>();
  readonly #ports: FreePorts;
  #closing = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#ports = new FreePorts(options.clock);
    const { records, logger } = options;
    const left = records.load((id, error) => {
      logger.error({ err: error, workload: id }, 'workload-record-damaged');
      this.#removals.set(id, this.#discard(id));
    });
    for (const record of left) this.#add(record, true);
  }

  /** Whether anything runs or is to run. */
  get active(): boolean {
    return [...this.#workloads.values()].some((workload) => workload.active);
  }

  watch(watcher: (workload: WorkloadView) => void): () => void {
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
    };
  }

  async start(spec: WorkloadSpec): Promise<WorkloadView> {
    if (!isWorkloadId(spec.id)) {
      throw new ServiceError('BAD_USER_INPUT', 'The id of a workload is [a-z0-9_-]{2,64}.');
    }
    await this.#removals.get(spec.id);
    const known = this.#workloads.get(spec.id);
    if (known) return known.view();
    if (this.#closing) throw new ServiceError('SHUTTING_DOWN', 'The runner is handing over.');
    const record: WorkloadRecord = {
      spec,
      want: 'run',
      restarts: 0,
      startedAtMs: this.#options.clock.now(),
      first: null,
      exit: null,
    };
    this.#options.records.save(record, true);
    return this.#add(record, false).view();
  }

  inspect(id: string): WorkloadView | null {
    return this.#workloads.get(id)?.view() ?? null;
  }

  list(): WorkloadView[] {
    return [...this.#workloads.values()].map((workload) => workload.view());
  }

  /** Undefined for an unknown id. */
  output(id: string): Output | undefined {
    return this.#workloads.get(id)?.output;
  }

  async stop(id: string): Promise<void> {
    await this.#workloads.get(id)?.stop();
  }

  async remove(id: string): Promise<void> {
    const known = this.#workloads.get(id);
    if (!known) return this.#removals.get(id);
    this.#workloads.delete(id);
    const removal = known.stop().then(() => {
      known.output.close();
      this.#options.records.remove(id);
    });
    this.#removals.set(id, removal);
    try {
      await removal;
    } finally {
      this.#removals.delete(id);
    }
  }

  probe(id: string): 'listening' | 'silent' | 'foreign' {
    const known = this.#workloads.get(id);
    if (!known?.active || known.port === null) return 'silent';
    return probePort(known.port, known.membership);
  }

  freePort(): Promise<number> {
    const taken = new Set<number>();
    for (const workload of this.#workloads.values()) {
      if (workload.active && workload.port !== null) taken.add(workload.port);
    }
    return this.#ports.next(taken);
  }

  /** Ends everything but leaves it on record for the next runner. */
  async release(): Promise<void> {
    this.#closing = true;
    await Promise.all(this.#removals.values());
    await Promise.all([...this.#workloads.values()].map((workload) => workload.release()));
  }

  /** Without its record it cannot run again; its mark is known all the same. */
  async #discard(id: string): Promise<void> {
    await killAll({ mark: this.#markOf(id), first: null }, this.#options.clock);
    this.#options.records.remove(id);
    this.#removals.delete(id);
  }

  #markOf(id: string): string {
    return `${this.#options.instance}:${id}`;
  }

  #add(record: WorkloadRecord, recovered: boolean): Workload {
    const { id } = record.spec;
    const { clock, logger, backoff, records } = this.#options;
    const output = new Output(
      { ...this.#options.output, dir: records.spoolDir(id) },
      clock,
      logger,
    );
    const workload = new Workload({
      record,
      dir: records.dirOf(id),
      mark: this.#markOf(id),
      recovered,
      output,
      backoff,
      clock,
      logger,
      save: (changed, durable) => {
        records.save(changed, durable);
      },
      changed: (changed) => {
        for (const watcher of this.#watchers) watcher(changed.view());
      },
    });
    this.#workloads.set(id, workload);
    return workload;
  }
}
