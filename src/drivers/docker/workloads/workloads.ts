/**
 * Owns our containers: how they are made, seen, ended and removed.
 *
 * 1. There is one container for each id. Its name follows from the id, so that a second request finds
 *    the first container.
 * 2. A workload that could not start even once is not started again. It says why, also after a restart
 *    of Gangway.
 * 3. Only containers with our label are listed, stopped or removed.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { ContainerSpec, Exit, Workload, WorkloadSpec } from '../../../protocol/workload.ts';
import { createOptions, graceSeconds } from './create-options.ts';
import type { LogLimits } from './create-options.ts';
import { Deadlines } from '../engine/deadlines.ts';
import { orGone, settled, statusOf, unreachable, wordsOf } from '../engine/engine.ts';
import type { Engine } from '../engine/engine.ts';
import { askInitFailure } from './init-words.ts';
import { LastEnds } from './last-ends.ts';
import { checkId, label, shortOf } from '../engine/names.ts';
import type { KnownSpec, Names } from '../engine/names.ts';
import type { Networks } from '../engine/networks.ts';
import type { EndNotes } from './end-notes.ts';
import { failedExit, ranBefore, sentenceOf, stateOf } from './states.ts';
import type { ContainerView } from './states.ts';
import { KeyedQueue } from '../engine/keyed-queue.ts';

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

/** A container of ours, and the workload that it is. */
export interface Seen {
  workload: Workload;
  view: ContainerView;
  known: KnownSpec;
}

/** How long the daemon may take to end or remove a container, beside the grace time. */
const endingMs = 60_000;
/** How many removed containers are remembered, so that their end is not taken for a loss. */
const forgottenMax = 1000;
/** Exit codes docker-init uses for a program that it cannot start. */
const cannotStartCodes: ReadonlySet<number> = new Set([126, 127]);

export class Workloads {
  readonly #parts: WorkloadsParts;
  readonly #turns = new KeyedQueue();
  readonly #deadlines: Deadlines;
  readonly #forgotten = new Set<string>();
  readonly #lastEnds: LastEnds;
  /** By workload: whose first end was looked at, or is. */
  readonly #examined = new Map<string, { container: string; done: Promise<void> }>();

  constructor(parts: WorkloadsParts) {
    this.#parts = parts;
    this.#lastEnds = new LastEnds(parts);
    this.#deadlines = new Deadlines(parts.clock, parts.logger, (id) => this.end(id, 'deadline'));
  }

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

  /** The container of a workload; undefined where there is none that was ever started. */
  async see(id: string): Promise<Seen | undefined> {
    const view = await this.view(id);
    return view && this.#meaning(view);
  }

  /** A container of ours as the daemon shows it. */
  async view(id: string): Promise<ContainerView | undefined> {
    const { engine, names } = this.#parts;
    const found = await engine.ask((docker) =>
      orGone(docker.getContainer(names.container(id)).inspect()),
    );
    const view = found as ContainerView | undefined;
    return view && names.isOurs(view.Config.Labels) ? view : undefined;
  }

  async list(): Promise<Workload[]> {
    const { engine, names, notes } = this.#parts;
    const filters = { label: [`${label.instance}=${names.instance}`, label.workload] };
    const found = await engine.ask((docker) => docker.listContainers({ all: true, filters }));
    const ids = new Set(found.flatMap(({ Labels }) => names.specOf(Labels)?.id ?? []));
    const seen = await Promise.all([...ids].map((id) => this.inspect(id)));
    const workloads = seen.filter((workload) => workload !== undefined);
    const listed = new Set(workloads.map(({ spec }) => spec.id));
    const unmade = notes.all().flatMap(({ spec }) => notes.failed(spec.id) ?? []);
    return [...workloads, ...unmade.filter(({ spec }) => !listed.has(spec.id))];
  }

  stop(id: string): Promise<void> {
    return this.end(id, 'stopped');
  }

  /** Ends it with a signal and a grace time; resolves when it has ended. */
  async end(id: string, why: 'stopped' | 'deadline'): Promise<void> {
    const { engine, notes, names, clock } = this.#parts;
    const seen = await this.see(id);
    if (!seen || seen.workload.state.phase === 'ended') return;
    const before = notes.get(id);
    if (before?.ending === undefined) {
      notes.set({ spec: seen.workload.spec, ending: why, atMs: clock.now() });
    }
    const t = graceSeconds(seen.known.stopGraceMs);
    await engine.ask((docker) => settled(docker.getContainer(names.container(id)).stop({ t })), {
      timeoutMs: t * 1000 + endingMs,
    });
  }

  remove(id: string): Promise<void> {
    const { engine, names, notes, networks } = this.#parts;
    return this.#turns.take(id, async () => {
      const view = await this.view(id);
      if (view) {
        await this.end(id, 'stopped');
        this.#deadlines.drop(id);
        this.#forget(view.Id);
        this.#lastEnds.forget(view.Id);
        await engine.ask(
          (docker) =>
            settled(docker.getContainer(names.container(id)).remove({ force: true, v: true })),
          { timeoutMs: endingMs },
        );
        for (const network of Object.keys(view.NetworkSettings.Networks ?? {})) {
          if (names.isNetwork(network)) await networks.release(network);
        }
      }
      this.#examined.delete(id);
      notes.delete(id);
    });
  }

  /** Looks at it again and reports its state; for events of the daemon. */
  async refresh(id: string): Promise<void> {
    const workload = await this.inspect(id);
    if (workload) this.#parts.changed(workload);
  }

  /** The daemon reports that a container was removed; if not by us, its workload is lost. */
  vanished(container: { id: string; name: string }, spec: KnownSpec): void {
    // A step of a build has the labels of its image, which may be anything.
    if (container.name !== this.#parts.names.container(spec.id)) return;
    if (this.#forgotten.delete(container.id) || this.#parts.notes.get(spec.id)?.failed) return;
    const detail = 'Its container was removed from outside.';
    const exit = { ...failedExit(detail, this.#parts.clock.now()), reason: 'lost' as const };
    this.#lastEnds.forget(container.id);
    this.#deadlines.drop(spec.id);
    this.#parts.changed({ spec: shortOf(spec), state: { phase: 'ended', exit } });
  }

  close(): void {
    this.#deadlines.close();
  }

  async #bringUp(spec: WorkloadSpec): Promise<Workload> {
    const { engine, networks, notes } = this.#parts;
    if (spec.container === null) {
      throw new ServiceError('BAD_USER_INPUT', 'A workload in Docker needs an image.');
    }
    const { network, furtherNetworks = [] } = spec.container;
    // A note may be left from a container of this name that somebody removed.
    notes.delete(spec.id);
    try {
      await networks.withinAll([network, ...furtherNetworks.map(({ name }) => name)], async () => {
        await this.#create(spec);
        for (const { name, aliases } of furtherNetworks) {
          await networks.join(name, this.#parts.names.container(spec.id), aliases);
        }
        await this.#start(spec);
      });
    } catch (error) {
      if (statusOf(error) === undefined) throw error;
      if (await engine.isEnding()) throw unreachable(error);
      return this.#fail(spec, sentenceOf(wordsOf(error)));
    }
    const found = await this.inspect(spec.id);
    if (found) return found;
    return this.#fail(spec, 'Its container was removed from outside.');
  }

  async #create(spec: WorkloadSpec): Promise<void> {
    const { engine, names, networks, log, defaultPids } = this.#parts;
    const { container } = spec;
    if (!container) return;
    for (const { name } of container.volumes) await networks.ensureVolume(name, spec.owner);
    const resources = { ...spec.resources, pids: spec.resources.pids ?? defaultPids };
    const address = await this.#addressFor(spec, container);
    const options = createOptions({ ...spec, resources }, container, names, log, address);
    try {
      await engine.ask((docker) => docker.createContainer({ ...options }));
    } catch (error) {
      // The container was made by an earlier attempt whose answer was lost, unless it is not ours.
      if (statusOf(error) !== 409 || (await this.view(spec.id)) === undefined) throw error;
    }
  }

  /** An address of its own; null where it asks for none, or this machine could not reach it. */
  async #addressFor(spec: WorkloadSpec, container: ContainerSpec): Promise<string | null> {
    if (spec.port === null || container.reachedAt !== 'address') return null;
    const address = await this.#parts.networks.freeAddress(container.network);
    if (address === null) {
      this.#parts.logger.warn({ workload: spec.id }, 'app_published_on_loopback');
    }
    return address;
  }

  async #start(spec: WorkloadSpec): Promise<void> {
    const { engine, names } = this.#parts;
    try {
      await engine.ask((docker) => docker.getContainer(names.container(spec.id)).start());
    } catch (error) {
      if (statusOf(error) !== 304) throw error; // It runs already.
    }
  }

  /** EndNotes the failure durably. It is never started again, not even by the daemon when that starts. */
  async #fail(spec: WorkloadSpec, detail: string): Promise<Workload> {
    const { engine, notes, names, clock, logger } = this.#parts;
    const failed = failedExit(detail, clock.now());
    notes.set({ spec: shortOf(spec), failed, atMs: failed.atMs });
    logger.warn({ workload: spec.id, detail }, 'container_not_started');
    await engine.ask((docker) =>
      orGone(
        docker
          .getContainer(names.container(spec.id))
          .update({ RestartPolicy: { Name: 'no', MaximumRetryCount: 0 } }),
      ),
    );
    return { spec: shortOf(spec), state: { phase: 'ended', exit: failed } };
  }

  #forget(container: string): void {
    const [oldest] = this.#forgotten;
    if (this.#forgotten.size >= forgottenMax && oldest !== undefined) {
      this.#forgotten.delete(oldest);
    }
    this.#forgotten.add(container);
  }

  async #meaning(view: ContainerView): Promise<Seen | undefined> {
    const { names, notes } = this.#parts;
    const known = names.specOf(view.Config.Labels);
    if (!known) return undefined;
    const lastExit = ranBefore(view) ? await this.#lastEnds.of(view) : undefined;
    if (lastExit) await this.#examine(view, known, lastExit);
    const state = stateOf(view, known, notes.get(known.id), lastExit);
    if (!state) return undefined;
    this.#deadlines.see(known, state);
    const { address: host, innerPort: port } = known;
    const address = host !== null && port !== null && { address: { host, port } };
    return { view, known, workload: { spec: shortOf(known), state, ...address } };
  }

  /**
   * Finds out whether docker-init could not start the program the first time. By now it may run again.
   */
  async #examine(view: ContainerView, known: KnownSpec, lastExit: Exit): Promise<void> {
    const isSettled = view.State.Status === 'removing' || view.State.Status === 'dead';
    if (isSettled || this.#parts.notes.get(known.id)?.failed) return;
    if (lastExit.code === null || !cannotStartCodes.has(lastExit.code)) return;
    // Only the first end is looked at: a program that once ran can be started.
    let looked = this.#examined.get(known.id);
    if (looked?.container !== view.Id) {
      looked = { container: view.Id, done: this.#endIfInVain(known) };
      this.#examined.set(known.id, looked);
    }
    try {
      await looked.done;
    } catch (error) {
      if (this.#examined.get(known.id) === looked) this.#examined.delete(known.id);
      throw error;
    }
  }

  /** Ends what docker-init says it cannot start, and only then notes why. */
  async #endIfInVain(known: KnownSpec): Promise<void> {
    const { notes, clock, engine, names } = this.#parts;
    const container = names.container(known.id);
    const detail = await askInitFailure(engine, container);
    if (detail === null) return;
    if (known.kind === 'service') {
      await engine.ask((docker) => settled(docker.getContainer(container).stop({ t: 0 })));
    }
    const atMs = clock.now();
    const failed = failedExit(detail, atMs);
    notes.set({ ...notes.get(known.id), spec: shortOf(known), failed, atMs });
  }
}
