/**
 * Owns the services of ours: how they are made, seen, ended and removed.
 *
 * 1. One service an id: its name follows from the id, so that asking again meets the first one.
 * 2. What could not start even once does not start again, and says why, also after a restart.
 * 3. Only services with our label are listed, stopped or removed.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ContainerSpec, Exit, Workload, WorkloadSpec } from '../../protocol/workload.ts';
import { graceSeconds } from '../docker/workloads/create-options.ts';
import type { LogLimits } from '../docker/workloads/create-options.ts';
import { Deadlines } from '../docker/engine/deadlines.ts';
import { orGone, pause, settled, statusOf, unreachable, wordsOf } from '../docker/engine/engine.ts';
import type { Engine } from '../docker/engine/engine.ts';
import { askInitFailure } from '../docker/workloads/init-words.ts';
import { checkId, label, shortOf } from '../docker/engine/names.ts';
import type { KnownSpec, Names } from '../docker/engine/names.ts';
import type { Networks } from '../docker/engine/networks.ts';
import type { EndNotes } from '../docker/workloads/end-notes.ts';
import { failedExit } from '../docker/workloads/states.ts';
import { KeyedQueue } from '../docker/engine/keyed-queue.ts';
import { forwardOf } from './forwarding.ts';
import type { Forwarding } from './forwarding.ts';
import type { Overlays } from './overlays.ts';
import type { Restarts } from './restarts.ts';
import { networksFor, serviceSpec } from './service-spec.ts';
import type { Publishing, ServiceParts } from './service-spec.ts';
import { begun, isAlive, sentenceOfTask, startFailure, stateOf } from './states.ts';
import type { Found } from './states.ts';
import type { Swarm } from './swarm.ts';
import { containerOf, isOver, isServiceParked, realTasks } from './tasks.ts';
import type { ServiceView, TaskView } from './tasks.ts';

export interface ServicesParts {
  engine: Engine;
  swarm: Swarm;
  names: Names;
  notes: EndNotes;
  restarts: Restarts;
  overlays: Overlays;
  volumes: Pick<Networks, 'ensureVolume'>;
  publishing: () => Promise<Publishing>;
  clock: Clock;
  logger: Logger;
  log: LogLimits;
  /** What a task without a limit of its own may have of processes. */
  defaultPids: number;
  changed: (workload: Workload) => void;
  forwarding: Forwarding;
}

export interface SeenService extends Found {
  workload: Workload;
}

/** What the swarm may take to end or remove a service, besides its grace. */
const endingMs = 60_000;
/** A start is told of then, however far it is: another node may have to fetch the image first. */
const startMs = 120_000;
const looks = { firstMs: 25, maxMs: 250 };
/** Exit codes docker-init uses for a program that it cannot start. */
const cannotStartCodes: ReadonlySet<number> = new Set([126, 127]);

export class Services {
  readonly #parts: ServicesParts;
  readonly #turns = new KeyedQueue();
  readonly #deadlines: Deadlines;
  /** Containers already looked at for `askInitFailure`. */
  readonly #examined = new Set<string>();
  /** What changes without an event: it has tasks on other nodes, or ports that are not known yet. */
  readonly #quiet = new Set<string>();
  /** What is ours by the id of its service. */
  readonly #byService = new Map<string, KnownSpec>();

  constructor(parts: ServicesParts) {
    this.#parts = parts;
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

  async see(id: string): Promise<SeenService | undefined> {
    const service = await this.#parts.swarm.service(id);
    return service && this.#meaning(service, await this.#parts.swarm.tasks([service]));
  }

  async list(): Promise<Workload[]> {
    const { swarm, notes } = this.#parts;
    const services = await swarm.services();
    const tasks = Map.groupBy(await swarm.tasks(services), (task) => task.ServiceID);
    const seen = await Promise.all(
      services.map((service) => this.#meaning(service, tasks.get(service.ID) ?? [])),
    );
    const workloads = seen.flatMap((one) => (one ? [one.workload] : []));
    const listed = new Set(workloads.map(({ spec }) => spec.id));
    const unmade = notes.all().flatMap(({ spec }) => notes.failed(spec.id) ?? []);
    return [...workloads, ...unmade.filter(({ spec }) => !listed.has(spec.id))];
  }

  /** Ends it politely; resolves when it is gone. */
  async end(id: string, why: 'stopped' | 'deadline'): Promise<void> {
    const { notes, swarm, clock } = this.#parts;
    const seen = await this.see(id);
    if (!seen || seen.workload.state.phase === 'ended') return;
    if (notes.get(id)?.ending === undefined) {
      notes.set({ spec: seen.workload.spec, ending: why, atMs: clock.now() });
    }
    await swarm.park(id);
    await this.#stopHere(seen);
    const waitMs = graceSeconds(seen.known.stopGraceMs) * 1000 + endingMs;
    const over = await this.#until(waitMs, async () => {
      const now = await this.see(id);
      return !now || now.workload.state.phase === 'ended' ? true : undefined;
    });
    if (!over) throw unreachable();
  }

  remove(id: string): Promise<void> {
    return this.#turns.take(id, async () => {
      const { swarm, notes, restarts, overlays, names, forwarding } = this.#parts;
      const service = await swarm.service(id);
      const networks = await swarm.networkNames(networksOf(service));
      if (service) {
        await this.end(id, 'stopped');
        this.#deadlines.drop(id);
        this.#byService.delete(service.ID);
        await swarm.ask((docker) => orGone(docker.getService(service.ID).remove()));
      }
      await this.#removeHere(id);
      for (const network of networks) if (names.isNetwork(network)) overlays.release(network);
      restarts.forget(id);
      forwarding.set(id, null);
      notes.delete(id);
    });
  }

  /** Whether it may change without an event, as it was last seen. */
  isQuiet(id: string): boolean {
    return this.#quiet.has(id);
  }

  /** Looks at it again and tells; for events of the daemon. */
  async refresh(id: string): Promise<Workload | undefined> {
    const workload = await this.inspect(id);
    if (workload) this.#parts.changed(workload);
    return workload;
  }

  /** For events of services, which carry no labels. */
  async refreshService(serviceId: string, action: string): Promise<void> {
    if (action === 'remove') {
      const spec = this.#byService.get(serviceId);
      if (spec && this.#byService.delete(serviceId)) this.#vanished(spec);
      return;
    }
    const service = await this.#parts.swarm.serviceBy(serviceId);
    const spec = service && this.#parts.names.specOf(service.Spec.Labels);
    if (spec) await this.refresh(spec.id);
  }

  close(): void {
    this.#deadlines.close();
  }

  #vanished(spec: KnownSpec): void {
    const { clock, notes, changed } = this.#parts;
    if (notes.get(spec.id)?.failed) return;
    const exit = failedExit('Its service was removed from outside.', clock.now());
    this.#deadlines.drop(spec.id);
    changed({ spec: shortOf(spec), state: { phase: 'ended', exit: { ...exit, reason: 'lost' } } });
  }

  async #bringUp(spec: WorkloadSpec): Promise<Workload> {
    const { overlays, notes, names, volumes } = this.#parts;
    const { container } = spec;
    if (container === null) {
      throw new ServiceError('BAD_USER_INPUT', 'A workload in a swarm needs an image.');
    }
    // Of one by this name whose service somebody removed.
    notes.delete(spec.id);
    const networks = networksFor(spec, container, names);
    try {
      for (const { name } of container.volumes) await volumes.ensureVolume(name, spec.owner);
      await overlays.withinAll(
        networks.map(({ name }) => name),
        () => this.#create(spec, container, networks),
      );
    } catch (error) {
      if (statusOf(error) === undefined) throw error;
      return this.#fail(spec, failedExit(sentenceOfTask(wordsOf(error)), this.#parts.clock.now()));
    }
    return this.#settled(spec);
  }

  async #create(
    spec: WorkloadSpec,
    container: ContainerSpec,
    networks: ServiceParts['networks'],
  ): Promise<void> {
    const { swarm, names, log, defaultPids, publishing } = this.#parts;
    const found = await swarm.ask((docker) => docker.getImage(container.image).inspect());
    const resources = { ...spec.resources, pids: spec.resources.pids ?? defaultPids };
    const options = serviceSpec({ ...spec, resources }, container, {
      names,
      log,
      networks,
      publishing: await publishing(),
      // By its id: so no node asks a registry for what only this one has.
      image: found.Id,
      nodeId: await swarm.ownNode(),
    });
    try {
      await swarm.ask((docker) => docker.createService(options));
    } catch (error) {
      // Made before, and the answer was lost; or by who has nothing to do with us.
      if (statusOf(error) !== 409 || !(await swarm.service(spec.id))) throw error;
    }
  }

  /** When it runs, or will not. */
  async #settled(spec: WorkloadSpec): Promise<Workload> {
    const seen = await this.#until(startMs, async () => {
      const now = await this.see(spec.id);
      if (!now) return 'gone';
      const isOpen =
        now.workload.state.phase === 'running' && !now.tasks.some((task) => isAlive(task, now));
      return isOpen ? undefined : now;
    });
    if (seen && seen !== 'gone') return seen.workload;
    const found = await this.inspect(spec.id);
    if (found) return found;
    const detail = 'Its service was removed from outside.';
    return this.#fail(spec, failedExit(detail, this.#parts.clock.now()));
  }

  /** Durable, and never tried again by the swarm. */
  async #fail(spec: Workload['spec'], failed: Exit): Promise<Workload> {
    const { notes, logger, swarm, clock } = this.#parts;
    const before = notes.get(spec.id);
    notes.set({ ...before, spec: shortOf(spec), failed, atMs: clock.now() });
    logger.warn({ workload: spec.id, detail: failed.detail }, 'service_not_started');
    await swarm.park(spec.id);
    return { spec: shortOf(spec), state: { phase: 'ended', exit: failed } };
  }

  /** Faster than the swarm, which first waits for others to know. */
  async #stopHere(found: Found): Promise<void> {
    const t = graceSeconds(found.known.stopGraceMs);
    const alive = found.tasks.filter((task) => isAlive(task, found));
    const here = alive
      .map((task) => containerOf(task) ?? '')
      .filter((id) => found.containers.has(id));
    await Promise.all(
      here.map((id) =>
        this.#parts.engine.ask((docker) => settled(docker.getContainer(id).stop({ t })), {
          timeoutMs: t * 1000 + endingMs,
        }),
      ),
    );
  }

  /** What was a task's here goes at once, with its log. */
  async #removeHere(id: string): Promise<void> {
    const { engine, names } = this.#parts;
    const filters = {
      label: [`${label.instance}=${names.instance}`, `${label.workload}=${id}`],
    };
    const gone = await this.#until(endingMs, async () => {
      const left = await engine.ask((docker) => docker.listContainers({ all: true, filters }));
      await Promise.all(
        left.map(({ Id: container }) =>
          engine.ask((docker) =>
            settled(docker.getContainer(container).remove({ force: true, v: true })),
          ),
        ),
      );
      return left.length === 0 ? true : undefined;
    });
    if (!gone) throw unreachable();
  }

  async #until<T>(withinMs: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
    const { clock, engine } = this.#parts;
    const giveUpAtMs = clock.now() + withinMs;
    for (let delayMs = looks.firstMs; ; delayMs = Math.min(delayMs * 1.5, looks.maxMs)) {
      const found = await look();
      if (found !== undefined) return found;
      if (engine.closed.aborted) throw unreachable();
      if (clock.now() > giveUpAtMs) return undefined;
      await pause(delayMs, engine.closed);
    }
  }

  async #meaning(service: ServiceView, all: readonly TaskView[]): Promise<SeenService | undefined> {
    const { names, notes, restarts, swarm, clock, forwarding } = this.#parts;
    const known = names.specOf(service.Spec.Labels);
    if (!known) return undefined;
    this.#byService.set(service.ID, known);
    const tasks = realTasks(all);
    const ownNode = await swarm.ownNode();
    const here = tasks.filter((task) => task.NodeID === ownNode);
    const containers = await swarm.containers(here.flatMap((task) => containerOf(task) ?? []));
    const found: Found = { service, known, tasks, containers };
    await this.#examine(found);
    const failure = notes.get(known.id)?.failed ? undefined : startFailure(found, clock.now());
    if (failure && !isServiceParked(service)) await this.#fail(known, failure);
    const started = tasks.filter((task) => begun(task, found));
    const state = stateOf(found, notes.get(known.id), restarts.count(known.id, started));
    const forward = await forwardOf(found, ownNode, swarm);
    forwarding.set(known.id, forward);
    const alive = tasks.filter((task) => isAlive(task, found));
    // The swarm tells the port of a task some time after its container was started.
    const isOpen = forward !== null && forward.targets.length < alive.length;
    const isFar = tasks.some((task) => !isOver(task) && task.NodeID && task.NodeID !== ownNode);
    if (isOpen || isFar) this.#quiet.add(known.id);
    else this.#quiet.delete(known.id);
    // Its time runs from when its program was started.
    if (state.phase === 'ended' || started.length > 0) this.#deadlines.see(known, state);
    return { ...found, workload: { spec: shortOf(known), state } };
  }

  /** Whether docker-init gave up on the program the first time it was to run. */
  async #examine(found: Found): Promise<void> {
    const { notes, engine, clock } = this.#parts;
    const { known, tasks, containers } = found;
    const [first] = tasks;
    const view = containers.get((first && containerOf(first)) ?? '');
    if (!view || notes.get(known.id)?.failed || view.State.Status !== 'exited') return;
    if (!cannotStartCodes.has(view.State.ExitCode) || this.#examined.has(view.Id)) return;
    const detail = await askInitFailure(engine, view.Id);
    this.#examined.add(view.Id);
    if (detail !== null) await this.#fail(known, failedExit(detail, clock.now()));
  }
}

/** The swarm keeps them by their ids. */
function networksOf(service: ServiceView | undefined): string[] {
  const template = service?.Spec.TaskTemplate as
    { Networks?: readonly { Target?: string }[] } | undefined;
  return (template?.Networks ?? []).flatMap(({ Target: target }) => target ?? []);
}
