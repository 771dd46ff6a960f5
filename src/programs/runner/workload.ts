/**
 * Owns one workload from its first start to its end: its process, its output, its restarts.
 *
 * 1. What is asked of it is on disk before it is done, so that the next runner knows.
 * 2. No second process starts before all of the first are gone.
 * 3. It counts as ended when its last log entry is in the spool.
 */
import type { OwnPlace } from '../../protocol/edge-messages.ts';
import type {
  Exit,
  Usage,
  Workload as WorkloadView,
  WorkloadSpec,
  WorkloadState,
} from '../../protocol/workload.ts';
import type { Clock } from '../../lib/clock.ts';
import { endPolitely, killAll } from '../../lib/processes/ending.ts';
import { type Backoff, restartDelayMs } from './backoff.ts';
import { endForkBombs, lostExit, shortOfMemory } from './exits.ts';
import type { Ground } from './ground.ts';
import { Compartment, type CompartmentParts, type Part } from './isolation/compartment.ts';
import type { Output } from './output.ts';
import { type Membership, readProcess } from '../../lib/processes/processes.ts';
import type { OwnSocket } from '../../lib/untrusted-files/socket.ts';
import type { WorkloadNetwork } from './network/networks.ts';
import { failedToStart, type ProgramProcess, startProgram } from './program-process.ts';
import type { WorkloadRecord } from './records.ts';
import { ServicePort, type ServicePortParts } from './service-port.ts';
import { startDeadline } from './deadline.ts';
import { UsageMeter } from './usage-meter.ts';

export interface WorkloadParts extends Omit<CompartmentParts, 'spec'>, ServicePortParts {
  record: WorkloadRecord;
  /** Value of the mark in the environment of all its processes. */
  mark: string;
  /** Whether the record is one of an earlier runner, whose processes may live. */
  recovered: boolean;
  output: Output;
  backoff: Backoff;
  clock: Clock;
  save: (record: WorkloadRecord, durable: boolean) => void;
  changed: (workload: Workload) => void;
}

/** Why it is being ended: `release` leaves it to the next runner. */
type EndReason = 'stopped' | 'deadline' | 'release';

/** How long pipes may stay open when every process of the workload is gone. */
const pipesCloseMs = 5000;

export class Workload {
  /** Resolves when it is known where its first run takes place. */
  readonly prepared: Promise<void>;
  /** Inodes of sockets that were shown to be its own; no other ever gets the same. */
  sockets: ReadonlySet<string> = new Set();
  readonly #parts: WorkloadParts;
  readonly #record: WorkloadRecord;
  #state: WorkloadState;
  #endReason: EndReason | undefined;
  /** Tells whatever waits in the workload's life that it is to end; there is one at a time. */
  #tellEnd: () => void = () => undefined;
  #life: Promise<void>;
  #tellPrepared: () => void = () => undefined;
  #shortRuns = 0;
  /** Whether its first process has not ended since the last start. */
  #isUp = false;
  readonly #port: ServicePort;
  readonly #compartment: Compartment;
  readonly #meter: UsageMeter;

  /** Goes on with what the record says: a new one starts, one of a dead runner is found and ended. */
  constructor(parts: WorkloadParts) {
    this.#parts = parts;
    this.#record = parts.record;
    this.#meter = new UsageMeter(parts.confinement);
    this.#compartment = new Compartment({ ...parts, spec: parts.record.spec });
    this.#port = new ServicePort(parts.record.spec, parts);
    this.prepared = new Promise((resolve) => (this.#tellPrepared = resolve));
    const { exit, restarts } = parts.record;
    if (exit) {
      this.#state = { phase: 'ended', exit };
      this.#life = Promise.resolve();
      this.#tellPrepared();
      parts.output.end();
      return;
    }
    const now = parts.clock.now();
    this.#state = parts.recovered
      ? { phase: 'waiting', restarts, nextStartAtMs: now, lastExit: this.#lose() }
      : { phase: 'running', startedAtMs: now, restarts };
    this.#life = this.#live()
      .catch((error: unknown) => {
        parts.logger.error({ err: error, workload: this.id }, 'workload_failed');
        this.#conclude(failedToStart(error, now));
      })
      .finally(() => this.#tellPrepared());
  }

  get id(): string {
    return this.#record.spec.id;
  }

  get output(): Output {
    return this.#parts.output;
  }

  get membership(): Membership {
    const { first, spec } = this.#record;
    const { waits, group } = this.#compartment;
    return { mark: this.#parts.mark, first, waits, group, uid: spec.uid };
  }

  get uid(): number | null {
    return this.#record.spec.uid;
  }

  get port(): number | null {
    return this.#record.spec.port;
  }

  /** Its own; null: it has the machine's. */
  get network(): WorkloadNetwork | null {
    return this.#compartment.network;
  }

  /** Where it serves in a network of its own: the very same as long as it does. */
  get place(): OwnPlace | undefined {
    const { network } = this;
    return network !== null && this.isUp() ? this.#port.placeIn(network) : undefined;
  }

  /** Where its port leads while it listens on a Unix socket alone. */
  get socket(): OwnSocket | undefined {
    return this.isUp() ? this.#port.socketFor(this.network !== null) : undefined;
  }

  get spec(): Readonly<WorkloadSpec> {
    return this.#record.spec;
  }

  get active(): boolean {
    return this.#state.phase !== 'ended';
  }

  /** What runs beside its own program needs to know; undefined while that does not run. */
  get ground(): Ground | undefined {
    if (this.#state.phase !== 'running' || this.#isEnding()) return undefined;
    const { env, uid, workingDir, owner, team: tenant = owner } = this.#record.spec;
    const { dir, mark } = this.#parts;
    const { waits } = this.#compartment;
    const part = (name: string): Part => this.#compartment.part(name);
    return { id: this.id, tenant, dir, mark, env, uid, workingDir, waits, part };
  }

  /** Whether it serves: its first process lives, as far as is known. */
  isUp(): boolean {
    return this.#isUp && this.#state.phase === 'running';
  }

  /** Somebody else was seen to listen on its port. */
  notePortTaken(): void {
    if (this.#state.phase !== 'running' || this.#state.portTaken === true) return;
    this.#change({ ...this.#state, portTaken: true });
  }

  /** Whether its port on the machine is nobody else's, as far as it has one there. */
  async holdsPort(): Promise<boolean> {
    await this.#port.hold();
    return !this.#port.isTaken;
  }

  /** Undefined while it does not run. */
  usage(): Usage | undefined {
    if (this.#state.phase !== 'running') return undefined;
    return this.#meter.read(this.membership, this.network);
  }

  view(): WorkloadView {
    const { id, owner, kind, port } = this.#record.spec;
    const { network } = this;
    const address = network === null ? undefined : this.#port.placeIn(network);
    return { spec: { id, owner, kind, port }, state: this.#state, ...(address && { address }) };
  }

  /** Resolves when all its processes are gone and its log is whole. */
  async stop(): Promise<void> {
    if (!this.active) return;
    if (this.#record.want === 'run') {
      this.#record.want = 'stop';
      this.#save(true);
    }
    this.#end('stopped');
    await this.#life;
  }

  /** Ends its processes but keeps on record that it is to run. */
  async release(): Promise<void> {
    this.#end('release');
    await this.#life;
    this.#compartment.close();
  }

  #end(reason: EndReason): void {
    this.#endReason ??= reason;
    this.#tellEnd();
  }

  async #live(): Promise<void> {
    const { spec } = this.#record;
    if (this.#parts.recovered) {
      void this.#port.hold();
      await killAll(this.membership, this.#parts.clock);
      // What ran outside its group, for want of one.
      if (spec.uid !== null)
        await killAll({ ...this.membership, group: undefined }, this.#parts.clock);
      await this.#port.hold();
      this.#record.first = null;
      if (this.#record.want === 'stop') {
        this.#conclude({ ...this.#lost(), reason: 'stopped' });
        return;
      }
      if (spec.kind === 'job') {
        this.#conclude(this.#lost());
        return;
      }
      this.#record.restarts++;
    }
    while (this.#endReason === undefined) {
      const exit = await this.#runOnce();
      if (this.#finish(exit)) return;
      await this.#waitForRestart(exit);
    }
    if (this.#endReason !== 'release') this.#conclude({ ...this.#lastExit(), reason: 'stopped' });
  }

  /** Whether this exit was the last. */
  #finish(exit: Exit): boolean {
    if (this.#endReason === 'release') return true;
    if (this.#endReason !== undefined) {
      this.#conclude({ ...exit, reason: this.#endReason });
      return true;
    }
    // What could not start even once will not start by trying again.
    const neverStarted = exit.reason === 'failed_to_start' && this.#record.restarts === 0;
    if (this.#record.spec.kind === 'job' || neverStarted) {
      this.#conclude(exit);
      return true;
    }
    return false;
  }

  async #runOnce(): Promise<Exit> {
    const { clock, output, confinement } = this.#parts;
    const { spec } = this.#record;
    const startedAtMs = (this.#record.startedAtMs = clock.now());
    const refusal = await this.#prepare();
    if (refusal !== undefined) return refusal;
    const oomKills = confinement.oomKills();
    const program = await this.#start();
    if (program === undefined) return { ...this.#lastExit(), reason: 'stopped' };
    const { pid, stdout, stderr, launched, exited } = program;
    this.#isUp = pid !== undefined;
    const piped = Promise.all([output.attach(stdout, 'stdout'), output.attach(stderr, 'stderr')]);
    if (pid === undefined) {
      await this.#port.hold();
      return exited;
    }
    this.#record.first = { pid, startTicks: readProcess(pid)?.startTicks ?? 0 };
    this.#save(false);
    const { restarts, lastExit } = this.#record;
    const lost = this.#port.isLost && ({ portTaken: true } as const);
    this.#change({
      phase: 'running',
      startedAtMs,
      restarts,
      ...(lastExit && { lastExit }),
      ...lost,
    });
    const end = (): void => this.#end('deadline');
    const cancelDeadline = startDeadline(spec.deadlineMs, launched, clock, end);
    const ended = new Promise<void>((resolve) => {
      this.#tellEnd = () => resolve(endPolitely(this.membership, spec.stopGraceMs, clock));
    });
    const explained = endForkBombs(this.#parts, spec, this.membership);
    const exit = explained(await exited);
    cancelDeadline();
    // What the first process left behind would hold the port and the pipes.
    if (this.#isEnding()) await ended;
    else await killAll(this.membership, clock);
    await this.#port.hold();
    this.#record.first = null; // Its number may be given to another process from now on.
    output.drain();
    const cancelWait = clock.after(pipesCloseMs, () => {
      // Only a process outside the workload can hold them now; it loses them.
      stdout.destroy();
      stderr.destroy();
    });
    await piped;
    cancelWait();
    const isShort = clock.now() - startedAtMs < this.#parts.backoff.goodRunMs;
    this.#shortRuns = isShort ? this.#shortRuns + 1 : 0;
    if (confinement.oomKills() === oomKills) return exit;
    return shortOfMemory(exit, spec.resources.memoryMb);
  }

  /** Resolves with how it has ended when it cannot run apart from others; never rejects. */
  async #prepare(): Promise<Exit | undefined> {
    const { clock, logger } = this.#parts;
    try {
      await this.#compartment.prepare(this.#record.address ?? null);
      if (this.network !== null) this.#record.address = this.network.address;
      return undefined;
    } catch (error) {
      logger.error({ err: error, workload: this.id }, 'workload_not_isolated');
      return failedToStart(Object.assign(new Error(), { code: 'ENOISOLATION' }), clock.now());
    } finally {
      this.#tellPrepared();
    }
  }

  #start(): Promise<ProgramProcess | undefined> {
    const { dir, mark, clock } = this.#parts;
    const begin = (): boolean => {
      if (!this.#isEnding()) this.#port.open(this.network !== null);
      return !this.#isEnding();
    };
    const ended = (): void => {
      this.#isUp = false;
      void Promise.all([this.#parts.left(), this.#port.hold()]);
    };
    const spec = { ...this.spec, command: this.#port.commandFor(this.network !== null) };
    return startProgram({ spec, dir, mark, place: this.#compartment.place, begin, ended, clock });
  }

  async #waitForRestart(lastExit: Exit): Promise<void> {
    const { backoff, clock } = this.#parts;
    const delayMs = restartDelayMs(backoff, this.#shortRuns);
    this.#record.lastExit = lastExit;
    this.#save(false);
    this.#change({
      phase: 'waiting',
      restarts: this.#record.restarts,
      nextStartAtMs: clock.now() + delayMs,
      lastExit,
      ...(this.#port.isTaken && { portTaken: true }),
    });
    await new Promise<void>((resolve) => {
      const cancel = clock.after(delayMs, resolve);
      this.#tellEnd = () => {
        cancel();
        resolve();
      };
    });
    if (!this.#isEnding()) this.#record.restarts++;
  }

  #isEnding(): boolean {
    return this.#endReason !== undefined;
  }

  #lastExit(): Exit {
    const atMs = this.#parts.clock.now();
    if (this.#state.phase === 'waiting') return { ...this.#state.lastExit, atMs };
    return { code: null, signal: null, reason: 'stopped', detail: null, atMs };
  }

  #lost(): Exit {
    return lostExit(this.#parts.clock.now());
  }

  /** How what the runner before this one left has ended. */
  #lose(): Exit {
    const { first, lastExit } = this.#record;
    // One that waited for its next start had ended before.
    if (first === null && lastExit !== undefined) return lastExit;
    return (this.#record.lastExit = this.#lost());
  }

  #conclude(exit: Exit): void {
    this.#record.exit = exit;
    this.#save(true);
    this.#compartment.close();
    this.#parts.output.end();
    this.#change({ phase: 'ended', exit });
  }

  #change(state: WorkloadState): void {
    this.#state = state;
    this.#parts.changed(this);
  }

  #save(durable: boolean): void {
    try {
      this.#parts.save(this.#record, durable);
    } catch (error) {
      // A full disk must not end what runs; the record of before still tells of the workload.
      this.#parts.logger.error({ err: error, workload: this.id }, 'workload_record_not_saved');
    }
  }
}
