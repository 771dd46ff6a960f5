/**
 * Owns what containers and services of ours have in common: how a workload is started, seen and ended.
 *
 * 1. There is one container, or service, for each id. Its name follows from the id, so that a second
 *    request finds the first one.
 * 2. A workload that could not start even once is not started again. It says why, also after a restart
 *    of Gangway.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { Forward } from '../../../protocol/forwarding.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type {
  ContainerSpec,
  Exit,
  Workload,
  WorkloadSpec,
  WorkloadState,
} from '../../../protocol/workload.ts';
import { type Engine, statusOf, unreachable, wordsOf } from '../engine/engine.ts';
import { KeyedQueue } from '../../../lib/keyed-queue.ts';
import { checkId, type KnownSpec, type Names, shortOf } from '../engine/names.ts';
import type { Networks } from '../engine/networks.ts';
import type { LogSource } from '../logs/container-log.ts';
import type { WorkloadLogs } from '../logs/log-follow.ts';
import type { LogLimits } from './create-options.ts';
import type { EndNotes } from './end-notes.ts';
import { type ContainerView, failedExit, sentenceOf } from './states.ts';

export interface WorkloadsParts {
  engine: Engine;
  names: Names;
  notes: EndNotes;
  networks: Networks;
  clock: Clock;
  logger: Logger;
  log: LogLimits;
  /** How many processes a container without a limit of its own may have. */
  defaultPids: number;
  changed: (workload: Workload) => void;
}

export interface Seen {
  workload: Workload;
  known: KnownSpec;
  /** Its containers that run; consoles are in the first. */
  running: readonly ContainerView[];
  logs: readonly LogSource[];
  /** A port of loopback that somebody of ours forwards to those of its containers that listen; null: none. */
  forward: Forward | null;
}

/** How long the daemon may take to end or remove something, beside the grace time. */
export const endingMs = 60_000;
/** Exit codes docker-init uses for a program that it cannot start. */
export const cannotStartCodes: ReadonlySet<number> = new Set([126, 127]);

export abstract class DaemonWorkloads<S extends Seen> {
  readonly #parts: WorkloadsParts;
  readonly #what: 'container' | 'service';
  readonly #turns = new KeyedQueue();
  /** When jobs that run are ended; set again from what is found after a restart. */
  readonly #deadlines = new Map<string, () => void>();

  constructor(parts: WorkloadsParts, what: 'container' | 'service') {
    this.#parts = parts;
    this.#what = what;
  }

  /** Undefined where there is none that was ever started. */
  abstract see(id: string): Promise<S | undefined>;
  protected abstract seeAll(): Promise<S[]>;
  /** Makes and starts it; what the daemon refuses is thrown as it is. */
  protected abstract make(spec: WorkloadSpec, container: ContainerSpec): Promise<void>;
  /** Ends it with a signal and a grace time; resolves when it has ended. */
  protected abstract endNow(seen: S): Promise<void>;
  /** Keeps the daemon from starting it again. */
  protected abstract giveUp(id: string): Promise<void>;
  /** Removes all there is of it, running or not. */
  protected abstract removeNow(id: string): Promise<void>;

  start(spec: WorkloadSpec): Promise<Workload> {
    checkId('id of a workload', spec.id);
    return this.#turns.take(spec.id, async () => {
      const known = await this.inspect(spec.id);
      if (known) return known;
      const workload = await this.#bringUp(spec);
      this.#parts.changed(workload);
      return workload;
    });
  }

  async inspect(id: string): Promise<Workload | undefined> {
    return (await this.see(id))?.workload ?? this.#parts.notes.failed(id);
  }

  async list(): Promise<Workload[]> {
    const { notes } = this.#parts;
    const workloads = (await this.seeAll()).map(({ workload }) => workload);
    const listed = new Set(workloads.map(({ spec }) => spec.id));
    const unmade = notes.all().flatMap(({ spec }) => notes.failed(spec.id) ?? []);
    return [...workloads, ...unmade.filter(({ spec }) => !listed.has(spec.id))];
  }

  async logs(id: string): Promise<WorkloadLogs | undefined> {
    const seen = await this.see(id);
    if (!seen) return this.#parts.notes.failed(id) && { ended: true, sources: [] };
    return { ended: seen.workload.state.phase === 'ended', sources: seen.logs };
  }

  async end(id: string, why: 'stopped' | 'deadline'): Promise<void> {
    const { notes, clock } = this.#parts;
    const seen = await this.see(id);
    if (!seen || seen.workload.state.phase === 'ended') return;
    if (notes.get(id)?.ending === undefined) {
      notes.set({ spec: seen.workload.spec, ending: why, atMs: clock.now() });
    }
    await this.endNow(seen);
  }

  remove(id: string): Promise<void> {
    return this.#turns.take(id, async () => {
      await this.removeNow(id);
      this.#parts.notes.delete(id);
    });
  }

  /** Looks at it again and reports its state; for events of the daemon. */
  async refresh(id: string): Promise<void> {
    const workload = await this.inspect(id);
    if (workload) this.#parts.changed(workload);
  }

  close(): void {
    for (const cancel of this.#deadlines.values()) cancel();
    this.#deadlines.clear();
  }

  /** To be called with every state that is seen. The first running one sets the timer. */
  protected keepDeadline({ id, kind, deadlineMs }: KnownSpec, state: WorkloadState): void {
    const { clock, logger } = this.#parts;
    if (state.phase === 'ended') this.dropDeadline(id);
    if (kind !== 'job' || deadlineMs === null || this.#deadlines.has(id)) return;
    if (state.phase !== 'running') return;
    const leftMs = state.startedAtMs + deadlineMs - clock.now();
    const cancel = clock.after(Math.max(0, leftMs), () => {
      // The timer stays in the map, so that a run is ended once.
      this.end(id, 'deadline').catch((error: unknown) => {
        // It is set again when the job is seen again, such as when the daemon is back.
        this.dropDeadline(id);
        logger.error({ err: error, workload: id }, 'deadline_not_enforced');
      });
    });
    this.#deadlines.set(id, cancel);
  }

  protected dropDeadline(id: string): void {
    this.#deadlines.get(id)?.();
    this.#deadlines.delete(id);
  }

  /** It was removed, and not by us. */
  protected lose(spec: KnownSpec): void {
    const { notes, clock, changed } = this.#parts;
    if (notes.get(spec.id)?.failed) return;
    const exit = { ...this.#removed(clock.now()), reason: 'lost' as const };
    this.dropDeadline(spec.id);
    changed({ spec: shortOf(spec), state: { phase: 'ended', exit } });
  }

  /** Notes the failure durably. It is never started again, not even by the daemon when that starts. */
  protected async fail(spec: Workload['spec'], failed: Exit): Promise<Workload> {
    const { notes, clock, logger } = this.#parts;
    notes.set({ ...notes.get(spec.id), spec: shortOf(spec), failed, atMs: clock.now() });
    const fields = { workload: spec.id, detail: failed.detail };
    if (this.#what === 'container') logger.warn(fields, 'container_not_started');
    else logger.warn(fields, 'service_not_started');
    await this.giveUp(spec.id);
    return { spec: shortOf(spec), state: { phase: 'ended', exit: failed } };
  }

  async #bringUp(spec: WorkloadSpec): Promise<Workload> {
    const { engine, notes, clock, defaultPids } = this.#parts;
    const { container, resources } = spec;
    if (container === null) {
      throw new ServiceError('BAD_USER_INPUT', 'A workload in Docker needs an image.');
    }
    // A note may be left from one of this name that somebody removed.
    notes.delete(spec.id);
    const bounded = { ...resources, pids: resources.pids ?? defaultPids };
    try {
      await this.make({ ...spec, resources: bounded }, container);
    } catch (error) {
      if (statusOf(error) === undefined) throw error;
      if (await engine.isEnding()) throw unreachable(error);
      return this.fail(spec, failedExit(sentenceOf(wordsOf(error)), clock.now()));
    }
    return (await this.inspect(spec.id)) ?? this.fail(spec, this.#removed(clock.now()));
  }

  #removed(atMs: number): Exit {
    return failedExit(`Its ${this.#what} was removed from outside.`, atMs);
  }
}
