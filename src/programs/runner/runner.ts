/**
 * Owns all workloads of a data directory on behalf of whoever connects.
 *
 * 1. One workload an id, for ever: `start` of a known id starts nothing.
 * 2. What an earlier runner left is taken over at construction: found, ended, started again.
 */
import { setImmediate } from 'node:timers/promises';

import { ServiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type {
  ExecOutcome,
  ExecSpec,
  Usage,
  Workload as WorkloadView,
  WorkloadSpec,
} from '../../protocol/workload.ts';
import type { Listener } from '../../lib/processes/listening-sockets.ts';
import { runCommand } from './command.ts';
import { killAll } from '../../lib/processes/ending.ts';
import { FairTurns } from './fair-turns.ts';
import type { Limits } from './limits/confinement.ts';
import { Output, type OutputOptions } from './output.ts';
import { ListenerLooks } from '../../lib/processes/listener-looks.ts';
import { FreePorts } from '../../lib/processes/ports.ts';
import { isWorkloadId, type Records, type WorkloadRecord } from './records.ts';
import { Terminals } from './terminals.ts';
import { type Backoff, type Ground, Workload } from './workload.ts';

export interface RunnerOptions {
  records: Records;
  /** Makes the marks of this data directory's workloads unlike those of any other. */
  instance: string;
  output: Omit<OutputOptions, 'dir'>;
  limits: Limits;
  backoff: Backoff;
  clock: Clock;
  logger: Logger;
}

const commandsMax = 64;

export class Runner {
  readonly terminals: Terminals;
  readonly #options: RunnerOptions;
  readonly #workloads = new Map<string, Workload>();
  readonly #removals = new Map<string, Promise<void>>();
  readonly #watchers = new Set<(workload: WorkloadView) => void>();
  readonly #ports: FreePorts;
  readonly #looks = new ListenerLooks();
  readonly #turns: FairTurns;
  #commands = 0;
  #commandsUnderWay = 0;
  #closing = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#ports = new FreePorts(options.clock);
    this.#turns = new FairTurns(options.clock, options.logger);
    this.terminals = new Terminals(options);
    const { records, logger } = options;
    const left = records.load((id, error) => {
      logger.error({ err: error, workload: id }, 'workload_record_damaged');
      this.#removals.set(id, this.#discard(id));
    });
    options.limits.sweep(new Set(left.map(({ spec }) => spec.id)));
    for (const record of left) this.#add(record, true);
  }

  /** Whether anything runs or is to run. */
  get active(): boolean {
    return [...this.#workloads.values()].some((workload) => workload.active);
  }

  watch(watcher: (workload: WorkloadView) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
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
    this.terminals.endOf(id);
    await this.#workloads.get(id)?.stop();
  }

  async remove(id: string): Promise<void> {
    const known = this.#workloads.get(id);
    if (!known) return this.#removals.get(id);
    this.#workloads.delete(id);
    this.terminals.endOf(id);
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

  async probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    const known = this.#workloads.get(id);
    if (!known?.active || known.port === null) return 'silent';
    return this.#looks.probe(known.port, known);
  }

  async listeners(id: string): Promise<Listener[]> {
    const known = this.#workloads.get(id);
    return known?.active === true ? this.#looks.listenersOf(known) : [];
  }

  /** Rejects: NOT_RUNNING, OVERLOADED, BAD_USER_INPUT for a program that is not there. */
  async exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecOutcome> {
    const ground = this.groundOf(id);
    if (this.#commandsUnderWay >= commandsMax) {
      throw new ServiceError('OVERLOADED', 'Too many commands run on this server.');
    }
    const name = `command-${String(process.pid)}-${String(++this.#commands)}`;
    this.#commandsUnderWay++;
    try {
      return await runCommand({ ground, spec, name, clock: this.#options.clock, signal });
    } finally {
      this.#commandsUnderWay--;
    }
  }

  /** Of those that run now; one in a turn of the loop. */
  async usages(ids: readonly string[]): Promise<[id: string, usage: Usage][]> {
    const usages: [string, Usage][] = [];
    for (const id of ids) {
      const usage = this.#workloads.get(id)?.usage();
      if (usage !== undefined) usages.push([id, usage]);
      await setImmediate();
    }
    return usages;
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
    this.terminals.endAll();
    await Promise.all(this.#removals.values());
    await Promise.all([...this.#workloads.values()].map((workload) => workload.release()));
    this.#options.limits.close();
  }

  /** Without its record it cannot run again; its mark is known all the same. */
  async #discard(id: string): Promise<void> {
    await killAll({ mark: this.#markOf(id), first: null }, this.#options.clock);
    this.#options.records.remove(id);
    this.#removals.delete(id);
  }

  /** Where a terminal or a command of it runs. Throws NOT_RUNNING. */
  groundOf(id: string): Ground {
    const ground = this.#workloads.get(id)?.ground;
    if (ground === undefined || this.#closing) {
      throw new ServiceError('NOT_RUNNING', 'It does not run.');
    }
    return ground;
  }

  #markOf(id: string): string {
    return `${this.#options.instance}:${id}`;
  }

  #add(record: WorkloadRecord, recovered: boolean): Workload {
    const { id } = record.spec;
    const { clock, logger, backoff, records, limits } = this.#options;
    const confinement = limits.confinementOf(id, record.spec.resources);
    const output = new Output(
      { ...this.#options.output, dir: records.spoolDir(id) },
      clock,
      logger,
      this.#turns,
    );
    const workload = new Workload({
      record,
      dir: records.dirOf(id),
      mark: this.#markOf(id),
      recovered,
      output,
      confinement,
      backoff,
      clock,
      logger,
      save: (changed, durable) => records.save(changed, durable),
      changed: (changed) => {
        for (const watcher of this.#watchers) watcher(changed.view());
      },
    });
    this.#workloads.set(id, workload);
    return workload;
  }
}
