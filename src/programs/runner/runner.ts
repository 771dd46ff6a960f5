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
import type { Target, Tenants } from '../../protocol/edge-messages.ts';
import type { LayerState } from '../../protocol/isolation.ts';
import type {
  ExecOutcome,
  ExecSpec,
  PipeSpec,
  Usage,
  Workload as WorkloadView,
  WorkloadSpec,
} from '../../protocol/workload.ts';
import { killAll } from '../../lib/processes/ending.ts';
import { HeldPorts } from '../../lib/processes/held-ports.ts';
import { ListenerLooks } from '../../lib/processes/listener-looks.ts';
import { ListenerTable } from '../../lib/processes/listener-table.ts';
import type { Listener, ListeningSocket } from '../../lib/processes/listening-sockets.ts';
import { FreePorts } from '../../lib/processes/ports.ts';
import { connectToOwn, type OwnSocket } from '../../lib/untrusted-files/socket.ts';
import { runCommand } from './command.ts';
import { type PipedCommand, startPiped } from './piped-command.ts';
import { DatabasePorts } from './database-ports.ts';
import { FairTurns } from './fair-turns.ts';
import type { EdgeKeeper } from './edge/edge-keeper.ts';
import type { Ground } from './ground.ts';
import type { Isolation } from './isolation/isolation.ts';
import { KeptPorts } from './kept-ports.ts';
import type { Limits } from './limits/confinement.ts';
import { Output, type OutputOptions } from './output.ts';
import { InsideLooks } from './network/inside.ts';
import type { WorkloadNetwork } from './network/networks.ts';
import { isWorkloadId, type Records, type WorkloadRecord } from './records.ts';
import { Shares } from './shares.ts';
import { Terminals } from './terminals.ts';
import type { Backoff } from './backoff.ts';
import { Workload } from './workload.ts';

export interface RunnerOptions {
  /** Where it keeps what the next runner is to know. */
  stateDir: string;
  records: Records;
  /** Makes the marks of this data directory's workloads unlike those of any other. */
  instance: string;
  output: Omit<OutputOptions, 'dir'>;
  limits: Limits;
  isolation: Isolation;
  /** Told where workloads serve. */
  edge: Pick<EdgeKeeper, 'place' | 'close'>;
  backoff: Backoff;
  clock: Clock;
  logger: Logger;
}

const noResources = { memoryMb: null, cpus: null, pids: null, replicas: 1 };
const loopback = '127.0.0.1';
/** To accept a connection; where it is the machine's own program that answers, that is soon. */
const probeMs = 1000;
const nobody: ReadonlySet<string> = new Set();

export class Runner implements Omit<Tenants, 'ownPlace'> {
  readonly terminals: Terminals;
  readonly #options: RunnerOptions;
  readonly #workloads = new Map<string, Workload>();
  readonly #removals = new Map<string, Promise<void>>();
  /** Whose processes may live still, though they are known no more. */
  readonly #leaving = new Set<Workload>();
  readonly #watchers = new Set<(workload: WorkloadView) => void>();
  readonly #freePorts: FreePorts;
  readonly #databasePorts = new DatabasePorts(this.#workloads, this.#leaving);
  readonly #ports = new HeldPorts((port) => this.#databasePorts.wayTo(port));
  readonly #keptPorts: KeptPorts;
  readonly #table = new ListenerTable();
  readonly #looks = new ListenerLooks();
  readonly #inside: InsideLooks;
  readonly #turns: FairTurns;
  readonly #commandShares = new Shares('commands run', 64);
  #commands = 0;
  #closing = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#freePorts = new FreePorts(options.clock);
    this.#keptPorts = new KeptPorts(options.stateDir, this.#ports);
    this.#inside = new InsideLooks(options.clock);
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

  /** What keeps workloads apart here. */
  get isolation(): readonly LayerState[] {
    return this.#options.isolation.states;
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
    if (spec.port !== null) this.#keptPorts.letGo(spec.owner, spec.port);
    const added = this.#add(record, false);
    await added.prepared;
    return added.view();
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
    this.#leaving.add(known);
    this.terminals.endOf(id);
    const stopped = known.stop().finally(() => this.#leaving.delete(known));
    const removal = stopped.then(async () => {
      known.output.close();
      this.#leavePort(known.spec);
      await this.#options.records.remove(id);
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
    if (known.network !== null) return this.#probeInside(known, known.network, known.port);
    if (known.socket !== undefined) return this.#probeSocket(known, known.socket);
    if (this.#ports.has(known.port)) return 'silent';
    return this.#looks.probe(known.port, known);
  }

  async #probeInside(
    known: Workload,
    network: WorkloadNetwork,
    port: number,
  ): Promise<'listening' | 'silent' | 'foreign'> {
    if (!(await known.holdsPort())) return 'foreign';
    return known.isUp() ? this.#inside.probe(network, port) : 'silent';
  }

  async #probeSocket(
    known: Workload,
    socket: OwnSocket,
  ): Promise<'listening' | 'silent' | 'foreign'> {
    if (!(await known.holdsPort())) return 'foreign';
    try {
      (await connectToOwn(socket, probeMs)).destroy();
      return 'listening';
    } catch {
      return 'silent'; // Not there yet, or nobody accepts.
    }
  }

  async listeners(id: string): Promise<Listener[]> {
    const known = this.#workloads.get(id);
    if (known?.active !== true) return [];
    return known.network === null
      ? this.#looks.listenersOf(known)
      : this.#inside.listeners(known.network);
  }

  async leadIn({ workload = '' }: Target): Promise<boolean> {
    const known = this.#workloads.get(workload);
    if (known?.isUp() !== true || known.network === null || known.port === null) return false;
    return this.#inside.refused(known.network, known.port);
  }

  async ownSockets({ host, port, workload = '' }: Target): Promise<ReadonlySet<string>> {
    const known = this.#workloads.get(workload);
    if (known?.isUp() !== true || known.network !== null) return nobody;
    const sockets = await this.#table.at(host, port);
    const areOwn = sockets.length > 0 && (await this.#areOwn(sockets, known));
    // It may have ended meanwhile.
    if (!known.isUp() || sockets.length === 0) return nobody;
    if (areOwn) return new Set(sockets.map(({ inode }) => inode));
    // Without a uid of its own, it may also be one of its processes that has just ended.
    if (known.uid !== null) known.notePortTaken();
    return nobody;
  }

  /** By the uid that made them where that is the owner's alone, else by whose processes have them open. */
  async #areOwn(sockets: readonly ListeningSocket[], known: Workload): Promise<boolean> {
    if (known.uid !== null) return sockets.every(({ uid }) => uid === known.uid);
    const isShown = ({ inode }: ListeningSocket): boolean => known.sockets.has(inode);
    if (sockets.every(isShown)) return true;
    known.sockets = new Set((await this.#looks.own(sockets, known)).map(({ inode }) => inode));
    return sockets.every(isShown);
  }

  /** The owner needs its port no more. */
  letPort(owner: string): void {
    this.#keptPorts.letGo(owner, null);
  }

  /** Rejects: NOT_RUNNING, OVERLOADED, BAD_USER_INPUT for a program that is not there. */
  async exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecOutcome> {
    const ground = this.groundOf(id);
    const giveBack = this.#commandShares.take(ground.tenant);
    const name = this.#nameOfCommand();
    try {
      return await runCommand({ ground, spec, name, clock: this.#options.clock, signal });
    } finally {
      giveBack();
    }
  }

  /** As `exec`; its streams are the caller's. Ends with `signal`. */
  async pipe(
    id: string,
    spec: PipeSpec,
    hasInput: boolean,
    signal: AbortSignal,
  ): Promise<PipedCommand> {
    const ground = this.groundOf(id);
    const giveBack = this.#commandShares.take(ground.tenant);
    const { clock } = this.#options;
    try {
      const name = this.#nameOfCommand();
      const piped = await startPiped({ ground, spec, hasInput, name, clock, signal });
      piped.ended.then(giveBack, giveBack);
      return piped;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #nameOfCommand(): string {
    return `command-${String(process.pid)}-${String(++this.#commands)}`;
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
    return this.#freePorts.next(this.#takenPorts());
  }

  /** Ends everything but leaves it on record for the next runner. */
  async release(): Promise<void> {
    this.#closing = true;
    this.terminals.endAll();
    await Promise.all(this.#removals.values());
    await Promise.all([...this.#workloads.values()].map((workload) => workload.release()));
    await this.#options.edge.close();
    this.#options.limits.close();
    this.#options.isolation.close();
  }

  #takenPorts(): Set<number> {
    const taken = new Set(this.#keptPorts.all);
    for (const { active, port } of this.#workloads.values()) {
      if (active && port !== null) taken.add(port);
    }
    return taken;
  }

  #leavePort({ port, owner, keepsPort = false }: Readonly<WorkloadSpec>): void {
    if (port === null) return;
    this.#freePorts.noteFreed(port);
    if (keepsPort) this.#keptPorts.keep(owner, port);
    else this.#ports.letGo(port);
  }

  /** Without its record it cannot run again; its group is known all the same, and else its mark. */
  async #discard(id: string): Promise<void> {
    const group = this.#options.limits.confinementOf(id, noResources);
    const membership = { mark: this.#markOf(id), first: null };
    await killAll(group.holds ? { ...membership, group } : membership, this.#options.clock);
    group.close();
    await this.#options.records.remove(id);
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
    const { clock, logger, backoff, records, limits, isolation, edge } = this.#options;
    const confinement = limits.confinementOf(id, record.spec.resources, record.spec.team);
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
      isolation,
      ports: this.#ports,
      isTaken: async (port) => (await this.#table.at(loopback, port)).length > 0,
      backoff,
      clock,
      logger,
      save: (changed, durable) => records.save(changed, durable),
      left: () => edge.place(id, undefined),
      changed: (changed) => {
        void edge.place(id, changed.place);
        for (const watcher of this.#watchers) watcher(changed.view());
      },
    });
    this.#workloads.set(id, workload);
    return workload;
  }
}
