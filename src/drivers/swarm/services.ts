/** Owns our services on the swarm: how they are made, seen, ended and removed. */
import type { Forward } from '../../protocol/forwarding.ts';
import type { ContainerSpec, WorkloadSpec, WorkloadState } from '../../protocol/workload.ts';
import { orGone, pause, settled, statusOf, unreachable } from '../docker/engine/engine.ts';
import { type KnownSpec, shortOf } from '../docker/engine/names.ts';
import type { LogSource } from '../docker/logs/container-log.ts';
import { graceSeconds } from '../docker/workloads/create-options.ts';
import {
  cannotStartCodes,
  DaemonWorkloads,
  endingMs,
} from '../docker/workloads/daemon-workloads.ts';
import type { Seen, WorkloadsParts } from '../docker/workloads/daemon-workloads.ts';
import { askInitFailure } from '../docker/workloads/init-words.ts';
import { failedExit } from '../docker/workloads/states.ts';
import { type Forwarding, forwardOf } from './forwarding.ts';
import type { Overlays } from './overlays.ts';
import type { Restarts } from './restarts.ts';
import { networksFor, type Publishing, type ServiceParts, serviceSpec } from './service-spec.ts';
import { begun, type Found, isAlive, startFailure, startedAtMs, stateOf } from './states.ts';
import type { Swarm } from './swarm.ts';
import { containerOf, isOver, isServiceParked, realTasks } from './tasks.ts';
import type { ServiceView, TaskView } from './tasks.ts';

export interface ServicesParts extends WorkloadsParts {
  swarm: Swarm;
  restarts: Restarts;
  overlays: Overlays;
  publishing: () => Publishing;
  forwarding: Forwarding;
}

export interface SeenService extends Found, Seen {}

/** A start is reported after this time, even if it is not complete. */
const startMs = 120_000;
const lookEveryMs = 500;
const lookEveryMaxMs = 5000;
const looks = { firstMs: 25, maxMs: 250 };

export class Services extends DaemonWorkloads<SeenService> {
  readonly #parts: ServicesParts;
  /** The containers that `askInitFailure` has been asked about. */
  readonly #examined = new Set<string>();
  /** Timers that look at a workload again. The tasks of a swarm cause no events; only containers do. */
  readonly #looks = new Map<string, () => void>();
  /** Our workloads by the ids of their services. */
  readonly #byService = new Map<string, KnownSpec>();

  constructor(parts: ServicesParts) {
    super(parts, 'service');
    this.#parts = parts;
  }

  async see(id: string): Promise<SeenService | undefined> {
    const { swarm, forwarding } = this.#parts;
    const look = forwarding.beginLook();
    const service = await swarm.service(id);
    return service && this.#meaning(service, await swarm.tasks([service]), look);
  }

  /** Looks at the workload again after this time, and reports its state. */
  lookAfter(id: string, delayMs: number): void {
    const { clock, engine, logger } = this.#parts;
    this.#rest(id);
    if (engine.closed.aborted) return;
    const cancel = clock.after(delayMs, () => {
      this.#looks.delete(id);
      this.refresh(id).catch((error: unknown) => {
        logger.debug({ err: error, workload: id }, 'workload_not_looked_at');
        if (!this.#looks.has(id)) this.lookAfter(id, lookEveryMs);
      });
    });
    this.#looks.set(id, cancel);
  }

  override close(): void {
    super.close();
    for (const id of this.#looks.keys()) this.#rest(id);
  }

  /** For events of services, which carry no labels. */
  async refreshService(serviceId: string, action: string): Promise<void> {
    if (action === 'remove') {
      const spec = this.#byService.get(serviceId);
      if (spec && this.#byService.delete(serviceId)) this.lose(spec);
      return;
    }
    const service = await this.#parts.swarm.serviceBy(serviceId);
    const spec = service && this.#parts.names.specOf(service.Spec.Labels);
    if (spec) await this.refresh(spec.id);
  }

  protected async seeAll(): Promise<SeenService[]> {
    const { swarm, forwarding } = this.#parts;
    const look = forwarding.beginLook();
    const services = await swarm.services();
    const tasks = Map.groupBy(await swarm.tasks(services), (task) => task.ServiceID);
    const seen = await Promise.all(
      services.map((service) => this.#meaning(service, tasks.get(service.ID) ?? [], look)),
    );
    return seen.filter((one) => one !== undefined);
  }

  protected async endNow(seen: SeenService): Promise<void> {
    const { id, stopGraceMs } = seen.known;
    const graceS = graceSeconds(stopGraceMs);
    await this.giveUp(id);
    // This is faster than the swarm, which first waits until its nodes know.
    await Promise.all(
      seen.running.map(({ Id: container }) =>
        this.#parts.engine.ask(
          (docker) => settled(docker.getContainer(container).stop({ t: graceS })),
          { timeoutMs: graceS * 1000 + endingMs },
        ),
      ),
    );
    const over = await this.#until(graceS * 1000 + endingMs, async () => {
      const now = await this.see(id);
      return !now || now.workload.state.phase === 'ended';
    });
    if (!over) throw unreachable();
  }

  protected async removeNow(id: string): Promise<void> {
    const { swarm, restarts, overlays, names, forwarding } = this.#parts;
    const service = await swarm.service(id);
    const networks = await swarm.networkNames(networksOf(service));
    if (service) {
      await this.end(id, 'stopped');
      this.dropDeadline(id);
      this.#byService.delete(service.ID);
      await swarm.ask((docker) => orGone(docker.getService(service.ID).remove()));
    }
    await this.#removeContainers(id);
    for (const network of networks) if (names.isNetwork(network)) overlays.release(network);
    restarts.forget(id);
    forwarding.set(id, null);
    this.#rest(id);
  }

  /** Returns when the service runs, or will not run. */
  protected async make(spec: WorkloadSpec, container: ContainerSpec): Promise<void> {
    const { overlays, names, networks: volumes } = this.#parts;
    const networks = networksFor(spec, container, names);
    for (const { name } of container.volumes) await volumes.ensureVolume(name, spec.owner);
    await overlays.withinAll(
      networks.map(({ name }) => name),
      () => this.#create(spec, container, networks),
    );
    await this.#until(startMs, async () => {
      const now = await this.see(spec.id);
      return (
        now?.workload.state.phase !== 'running' || now.tasks.some((task) => isAlive(task, now))
      );
    });
  }

  protected giveUp(id: string): Promise<void> {
    return this.#parts.swarm.park(id);
  }

  async #create(
    spec: WorkloadSpec,
    container: ContainerSpec,
    networks: ServiceParts['networks'],
  ): Promise<void> {
    const { swarm, names, log, publishing } = this.#parts;
    const found = await swarm.ask((docker) => docker.getImage(container.image).inspect());
    const options = serviceSpec(spec, container, {
      ...{ names, log, networks, publishing: publishing() },
      // The image's id, so that no node asks a registry for an image that only this node has.
      image: found.Id,
      nodeId: await swarm.ownNode(),
    });
    try {
      await swarm.ask((docker) => docker.createService(options));
    } catch (error) {
      // The service exists: our own call made it and its answer was lost, or it belongs to somebody else.
      if (statusOf(error) !== 409 || !(await swarm.service(spec.id))) throw error;
    }
  }

  /** Removes the containers of all tasks at once, with their logs. */
  async #removeContainers(id: string): Promise<void> {
    const { engine, names } = this.#parts;
    const filters = { label: names.labelFilter(id) };
    const gone = await this.#until(endingMs, async () => {
      const left = await engine.ask((docker) => docker.listContainers({ all: true, filters }));
      await Promise.all(
        left.map(({ Id: container }) =>
          engine.ask((docker) =>
            settled(docker.getContainer(container).remove({ force: true, v: true })),
          ),
        ),
      );
      return left.length === 0;
    });
    if (!gone) throw unreachable();
  }

  /** Whether `look` became true within that time. */
  async #until(withinMs: number, look: () => Promise<boolean>): Promise<boolean> {
    const { clock, engine } = this.#parts;
    const giveUpAtMs = clock.now() + withinMs;
    for (let delayMs = looks.firstMs; ; delayMs = Math.min(delayMs * 1.5, looks.maxMs)) {
      if (await look()) return true;
      if (engine.closed.aborted) throw unreachable();
      if (clock.now() > giveUpAtMs) return false;
      await pause(delayMs, engine.closed);
    }
  }

  async #meaning(
    service: ServiceView,
    all: readonly TaskView[],
    look: number,
  ): Promise<SeenService | undefined> {
    const { names, notes, restarts, swarm, clock, forwarding } = this.#parts;
    const known = names.specOf(service.Spec.Labels);
    if (!known) return undefined;
    this.#byService.set(service.ID, known);
    const tasks = realTasks(all);
    const containers = await swarm.containers(tasks.flatMap((task) => containerOf(task) ?? []));
    const found: Found = { service, known, tasks, containers };
    await this.#examine(found);
    const failure = notes.get(known.id)?.failed ? undefined : startFailure(found, clock.now());
    if (failure && !isServiceParked(service)) await this.fail(known, failure);
    const started = tasks.filter((task) => begun(task, found));
    const state = stateOf(found, notes.get(known.id), restarts.count(known.id, started));
    const alive = tasks.filter((task) => isAlive(task, found));
    const forward = await forwardOf(found, alive);
    forwarding.set(known.id, forward, look);
    this.#lookAgain(found, alive, { state, forward });
    // The deadline runs from the start of the program.
    if (state.phase === 'ended' || started.length > 0) this.keepDeadline(known, state);
    return {
      ...found,
      workload: { spec: shortOf(known), state },
      running: alive.flatMap((task) => containers.get(containerOf(task) ?? '') ?? []),
      logs: started.map((task) => logOf(task, found)),
      forward,
    };
  }

  /** Tasks begin to listen, and have their ports reported, without an event. */
  #lookAgain(
    found: Found,
    alive: readonly TaskView[],
    { state, forward }: { state: WorkloadState; forward: Forward | null },
  ): void {
    const { id } = found.known;
    const isUnreached = forward !== null && forward.targets.length < alive.length;
    const isWaiting = state.phase === 'waiting';
    if (this.#looks.has(id) || !(isUnreached || isWaiting)) return;
    const youngestMs = Math.min(
      ...alive.map((task) => this.#parts.clock.now() - startedAtMs(task, found)),
    );
    // A task that has not listened for long will hardly do so soon.
    const restMs = isWaiting
      ? lookEveryMs
      : Math.min(Math.max(youngestMs / 10, lookEveryMs), lookEveryMaxMs);
    this.lookAfter(id, restMs);
  }

  #rest(id: string): void {
    this.#looks.get(id)?.();
    this.#looks.delete(id);
  }

  /** Whether docker-init failed to start the program at its first run. */
  async #examine(found: Found): Promise<void> {
    const { notes, engine, clock } = this.#parts;
    const { known, tasks, containers } = found;
    const [first] = tasks;
    const view = containers.get((first && containerOf(first)) ?? '');
    if (!view || notes.get(known.id)?.failed || view.State.Status !== 'exited') return;
    if (!cannotStartCodes.has(view.State.ExitCode) || this.#examined.has(view.Id)) return;
    const detail = await askInitFailure(engine, view.Id);
    this.#examined.add(view.Id);
    if (detail !== null) await this.fail(known, failedExit(detail, clock.now()));
  }
}

function logOf(task: TaskView, found: Found): LogSource {
  const template = found.service.Spec.TaskTemplate as { ContainerSpec?: { TTY?: boolean } };
  return {
    id: task.ID,
    container: containerOf(task),
    hasTerminal: template.ContainerSpec?.TTY ?? false,
    isOver: isOver(task) || !isAlive(task, found),
  };
}

/** A service names its networks by their ids. */
function networksOf(service: ServiceView | undefined): string[] {
  const template = service?.Spec.TaskTemplate as
    { Networks?: readonly { Target?: string }[] } | undefined;
  return (template?.Networks ?? []).flatMap(({ Target: target }) => target ?? []);
}
