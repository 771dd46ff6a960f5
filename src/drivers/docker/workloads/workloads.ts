/**
 * Owns our containers: how they are made, seen, ended and removed. One that was removed, and not by us,
 * is reported as lost.
 */
import type { Exit, ContainerSpec, WorkloadSpec } from '../../../protocol/workload.ts';
import { orGone, settled, statusOf } from '../engine/engine.ts';
import { type KnownSpec, shortOf } from '../engine/names.ts';
import { onlyLog } from '../logs/merge-journal.ts';
import { createOptions, graceSeconds } from './create-options.ts';
import { cannotStartCodes, DaemonWorkloads, endingMs } from './daemon-workloads.ts';
import type { Seen, WorkloadsParts } from './daemon-workloads.ts';
import { askInitFailure } from './init-words.ts';
import { LastEnds } from './last-ends.ts';
import { type ContainerView, failedExit, ranBefore, stateOf } from './states.ts';

/** How many removed containers are remembered, so that their end is not taken for a loss. */
const forgottenMax = 1000;

export class Workloads extends DaemonWorkloads<Seen> {
  readonly #parts: WorkloadsParts;
  readonly #forgotten = new Set<string>();
  readonly #lastEnds: LastEnds;
  /** By workload: whose first end was looked at, or is. */
  readonly #examined = new Map<string, { container: string; done: Promise<void> }>();

  constructor(parts: WorkloadsParts) {
    super(parts, 'container');
    this.#parts = parts;
    this.#lastEnds = new LastEnds(parts);
  }

  async see(id: string): Promise<Seen | undefined> {
    const view = await this.#view(id);
    return view && this.#meaning(view);
  }

  /** The daemon reports that a container was removed; if not by us, its workload is lost. */
  vanished(container: { id: string; name: string }, spec: KnownSpec): void {
    // A step of a build has the labels of its image, which may be anything.
    if (container.name !== this.#parts.names.container(spec.id)) return;
    if (this.#forgotten.delete(container.id)) return;
    this.#lastEnds.forget(container.id);
    this.lose(spec);
  }

  protected async seeAll(): Promise<Seen[]> {
    const { engine, names } = this.#parts;
    const filters = { label: names.labelFilter() };
    const found = await engine.ask((docker) => docker.listContainers({ all: true, filters }));
    const ids = new Set(found.flatMap(({ Labels }) => names.specOf(Labels)?.id ?? []));
    const seen = await Promise.all([...ids].map((id) => this.see(id)));
    return seen.filter((one) => one !== undefined);
  }

  protected async endNow({ known }: Seen): Promise<void> {
    const { engine, names } = this.#parts;
    const t = graceSeconds(known.stopGraceMs);
    const container = names.container(known.id);
    await engine.ask((docker) => settled(docker.getContainer(container).stop({ t })), {
      timeoutMs: t * 1000 + endingMs,
    });
  }

  protected async removeNow(id: string): Promise<void> {
    const { engine, names, networks } = this.#parts;
    const view = await this.#view(id);
    this.#examined.delete(id);
    if (!view) return;
    await this.end(id, 'stopped');
    this.dropDeadline(id);
    this.#forget(view.Id);
    this.#lastEnds.forget(view.Id);
    const all = { force: true, v: true };
    await engine.ask((docker) => settled(docker.getContainer(names.container(id)).remove(all)), {
      timeoutMs: endingMs,
    });
    for (const network of Object.keys(view.NetworkSettings.Networks ?? {})) {
      if (names.isNetwork(network)) await networks.release(network);
    }
  }

  protected make(spec: WorkloadSpec, container: ContainerSpec): Promise<void> {
    const { names, networks } = this.#parts;
    const { network, furtherNetworks = [] } = container;
    const all = [network, ...furtherNetworks.map(({ name }) => name)];
    return networks.withinAll(all, async () => {
      await this.#create(spec, container);
      for (const { name, aliases } of furtherNetworks) {
        await networks.join(name, names.container(spec.id), aliases);
      }
      await this.#start(spec);
    });
  }

  protected async giveUp(id: string): Promise<void> {
    const { engine, names } = this.#parts;
    const never = { RestartPolicy: { Name: 'no', MaximumRetryCount: 0 } };
    await engine.ask((docker) => orGone(docker.getContainer(names.container(id)).update(never)));
  }

  async #create(spec: WorkloadSpec, container: ContainerSpec): Promise<void> {
    const { engine, names, networks, log } = this.#parts;
    for (const { name } of container.volumes) await networks.ensureVolume(name, spec.owner);
    const address = await this.#addressFor(spec, container);
    const options = createOptions(spec, container, names, log, address);
    try {
      await engine.ask((docker) => docker.createContainer({ ...options }));
    } catch (error) {
      // The container was made by an earlier attempt whose answer was lost, unless it is not ours.
      if (statusOf(error) !== 409 || (await this.#view(spec.id)) === undefined) throw error;
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

  /** A container of ours as the daemon shows it. */
  async #view(id: string): Promise<ContainerView | undefined> {
    const { engine, names } = this.#parts;
    const found = await engine.ask((docker) =>
      orGone(docker.getContainer(names.container(id)).inspect()),
    );
    const view = found as ContainerView | undefined;
    return view && names.isOurs(view.Config.Labels) ? view : undefined;
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
    this.keepDeadline(known, state);
    const { address: host, innerPort: port } = known;
    const address = host !== null && port !== null && { address: { host, port } };
    return {
      known,
      workload: { spec: shortOf(known), state, ...address },
      running: state.phase === 'running' ? [view] : [],
      logs: [
        {
          id: onlyLog,
          container: names.container(known.id),
          hasTerminal: view.Config.Tty,
          isOver: state.phase === 'ended',
        },
      ],
      forward: null,
    };
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
