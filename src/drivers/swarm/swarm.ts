/**
 * Owns the requests to a swarm: which services and tasks exist, and which node this is. A label limits
 * every request to what is ours.
 */
import type Dockerode from 'dockerode';

import { ServiceError } from '../../lib/errors.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import type { ServerInfo } from '../driver.ts';
import { type Asking, type Engine, orGone, statusOf, wordsOf } from '../docker/engine/engine.ts';
import type { Names } from '../docker/engine/names.ts';
import type { ContainerView } from '../docker/workloads/states.ts';
import { parkedSpec, serviceName } from './service-spec.ts';
import { isServiceParked, type ServiceView, type TaskView } from './tasks.ts';

interface NodeView {
  ID: string;
  Spec: { Availability: 'active' | 'pause' | 'drain' };
  Description: { Hostname: string; Engine?: { EngineVersion?: string } };
  Status: { State: 'ready' | 'down' | 'disconnected' | 'unknown' };
}

/** Ended containers that are asked about again and again. */
const endedMax = 2000;
const updateTries = 10;
const checkMs = 1000;
/** After this time, callers that ask for servers get what was known before. */
const serversMs = 5000;

export class Swarm {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #ended = new RecentMap<ContainerView>(endedMax);

  constructor(engine: Engine, names: Names) {
    this.#engine = engine;
    this.#names = names;
  }

  /** As `Engine.ask`, but a daemon that is no manager now counts as one that is away. */
  async ask<T>(question: (docker: Dockerode) => Promise<T>, asking?: Asking): Promise<T> {
    try {
      return await this.#engine.ask(question, asking);
    } catch (error) {
      if (statusOf(error) !== 503) throw error;
      const message = `The Docker daemon does not manage a swarm now: ${wordsOf(error)}`;
      throw new ServiceError('AGENT_UNREACHABLE', message, { cause: error });
    }
  }

  /** The node id of this daemon. */
  async ownNode(): Promise<string> {
    const id = await this.#askOwnNode();
    if (id !== null) return id;
    throw new ServiceError(
      'AGENT_UNREACHABLE',
      'The Docker daemon is no manager of a swarm: "docker swarm init" makes it one.',
    );
  }

  /** Answers within a second: a daemon that is away is waited for later. */
  async check(): Promise<'manager' | 'no-manager' | 'away'> {
    try {
      const own = await this.#askOwnNode({ timeoutMs: checkMs });
      return own === null ? 'no-manager' : 'manager';
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE') return 'away';
      throw error;
    }
  }

  /** The nodes of the swarm, as servers. */
  async servers(): Promise<ServerInfo[]> {
    const asking = { timeoutMs: serversMs };
    const own = await this.#askOwnNode(asking);
    const nodes = await this.ask((docker) => docker.listNodes() as Promise<NodeView[]>, asking);
    return nodes.map(({ ID: id, Spec, Description, Status }) => ({
      id,
      name: Description.Hostname,
      isOwn: id === own,
      connected: Status.State === 'ready',
      draining: Spec.Availability !== 'active',
      version: Description.Engine?.EngineVersion ?? null,
    }));
  }

  async service(id: string): Promise<ServiceView | undefined> {
    const found = await this.serviceBy(serviceName(this.#names, id));
    return found && this.#names.specOf(found.Spec.Labels)?.id === id ? found : undefined;
  }

  /** The service with this id or name, if it is ours. */
  async serviceBy(reference: string): Promise<ServiceView | undefined> {
    const found = (await this.ask((docker) =>
      orGone(docker.getService(reference).inspect() as Promise<unknown>),
    )) as ServiceView | undefined;
    return found && this.#names.specOf(found.Spec.Labels) ? found : undefined;
  }

  async services(): Promise<ServiceView[]> {
    const filters = { label: this.#names.labelFilter() };
    return (await this.ask((docker) => docker.listServices({ filters }))) as ServiceView[];
  }

  /** The tasks of all these services. */
  async tasks(services: readonly ServiceView[]): Promise<TaskView[]> {
    if (services.length === 0) return [];
    const filters = { service: services.map(({ ID: id }) => id) };
    try {
      return (await this.ask((docker) => docker.listTasks({ filters }))) as TaskView[];
    } catch (error) {
      // A service was removed meanwhile.
      if (statusOf(error) === 404) return [];
      throw error;
    }
  }

  /** The containers with these ids that exist, by id. */
  async containers(ids: readonly string[]): Promise<Map<string, ContainerView>> {
    const found = await Promise.all(ids.map((id) => this.#container(id)));
    return new Map(found.flatMap((view) => (view ? [[view.Id, view]] : [])));
  }

  async networkNames(ids: readonly string[]): Promise<string[]> {
    const found = await Promise.all(
      ids.map((id) => this.ask((docker) => orGone(docker.getNetwork(id).inspect()))),
    );
    return found.flatMap((network) => (network as { Name: string } | undefined)?.Name ?? []);
  }

  /** Stops the tasks of a service, by a node that does not exist, and keeps them. */
  async park(id: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const service = await this.service(id);
      if (!service || isServiceParked(service)) return;
      try {
        await this.ask((docker) =>
          docker
            .getService(service.ID)
            .update({ version: service.Version.Index, ...parkedSpec(service.Spec) }),
        );
        return;
      } catch (error) {
        if (statusOf(error) === 404) return;
        // The swarm itself changed the service meanwhile.
        if (tries === updateTries || !wordsOf(error).includes('out of sequence')) throw error;
      }
    }
  }

  async #container(id: string): Promise<ContainerView | undefined> {
    const known = this.#ended.get(id);
    if (known) return known;
    const view = (await this.#engine.ask((docker) => orGone(docker.getContainer(id).inspect()))) as
      ContainerView | undefined;
    if (view?.State.Status === 'exited') this.#ended.set(id, view);
    return view;
  }

  /** Null when the daemon manages no swarm. */
  async #askOwnNode(asking: Asking = {}): Promise<string | null> {
    const { Swarm: swarm } = (await this.ask(
      (docker) => docker.info() as Promise<unknown>,
      asking,
    )) as { Swarm?: { NodeID?: string; ControlAvailable?: boolean } };
    return swarm?.ControlAvailable && swarm.NodeID ? swarm.NodeID : null;
  }
}
