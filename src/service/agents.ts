/**
 * Owns the agents of other servers, as the service has them.
 *
 * 1. The agents' port is listened on only while there is a server whose agent has a certificate. One that cannot be had
 *    is told in the log, and tried again.
 * 2. What is revoked in the store is cut off as soon as it is stored.
 * 3. The servers' actor is told who is connected.
 */
import { serversActor, type ServersProtocol } from '../actors/server/protocol.ts';
import type { Actors, MessageOf } from '../actors/runtime/actor.ts';
import type { AgentAuthority } from '../agents/authority.ts';
import { ConnectedAgents } from '../agents/connected-agents.ts';
import { AgentListener } from '../agents/listener.ts';
import type { AgentAsks } from '../agents/told.ts';
import type { Config } from '../config.ts';
import { type Clock, every } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { AgentLinks } from '../protocol/agent-link.ts';
import { isRecord } from '../protocol/agent-wire.ts';
import type { Store } from '../store/store.ts';
import { tables } from '../store/records/tables.ts';

export interface ServedAgentsOptions {
  config: Pick<Config, 'agentHost' | 'agentPort'>;
  /** Ours. */
  version: string;
  store: Pick<Store, 'scan' | 'subscribe'>;
  actors: Pick<Actors, 'tell' | 'ask'>;
  authority: AgentAuthority;
  clock: Clock;
  logger: Logger;
}

/** While they are connected, agents are told to be seen, and their certificates looked at, so often. */
const lookMs = 60_000;
const retryMs = 10_000;

export class ServedAgents {
  readonly links: AgentLinks;
  readonly #options: ServedAgentsOptions;
  readonly #agents: ConnectedAgents;
  readonly #connected = new Set<string>();
  #listener: AgentListener | null = null;
  #ends: (() => void)[] = [];
  /** What is done with the listener is done one after the other. */
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ServedAgentsOptions) {
    const { version, clock, logger, authority } = options;
    this.#options = options;
    this.#agents = new ConnectedAgents({
      ...{ version, clock, logger, asks: this.#asks() },
      admit: (certificate) => authority.admit(certificate),
      expired: (certificate) => authority.expired(certificate),
      onConnected: (serverId, agent) => {
        this.#connected.add(serverId);
        const { version: release, host } = agent;
        logger.info({ server: serverId, release, host }, 'agent_connected');
        this.#tell({ type: 'agent-connected', serverId, version: release, runtime: 'process' });
      },
      onLost: (serverId) => {
        this.#connected.delete(serverId);
        logger.info({ server: serverId }, 'agent_lost');
        this.#tell({ type: 'agent-lost', serverId });
      },
      onRefused: (serverId, problem) => {
        logger.warn({ server: serverId, detail: problem }, 'agent_refused');
        this.#tell({ type: 'agent-refused', serverId, problem });
      },
    });
    this.links = this.#agents;
  }

  /** Call this once actors are started, and know that no agent is connected. */
  start(): void {
    const { store, clock } = this.#options;
    this.#ends = [
      store.subscribe(({ changes }) => {
        if (!changes.some(({ table }) => table === tables.servers.name)) return;
        this.#agents.review();
        this.#look();
      }),
      every(clock, lookMs, () => {
        this.#agents.review();
        for (const serverId of this.#connected) this.#tell({ type: 'agent-seen', serverId });
      }),
    ];
    this.#look();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of this.#ends) end();
    this.#agents.close();
    this.#look();
    await this.#turn;
    this.#agents.abort();
  }

  /** Opens or closes the port as it has to be. */
  #look(): void {
    this.#turn = this.#turn.then(() => this.#listen());
  }

  async #listen(): Promise<void> {
    const { config, logger } = this.#options;
    const isWanted = !this.#isClosed && this.#hasAgents();
    if (isWanted === (this.#listener !== null)) return;
    if (!isWanted) {
      await this.#listener?.close();
      this.#listener = null;
      return;
    }
    const listener = this.#newListener();
    try {
      await listener.open(config.agentHost, config.agentPort);
      this.#listener = listener;
      logger.info({ host: config.agentHost, port: config.agentPort }, 'agent_port_open');
    } catch (err) {
      const { agentHost: host, agentPort: port } = config;
      logger.error({ err, host, port }, 'agent_port_not_open');
      this.#options.clock.after(retryMs, () => this.#look());
    }
  }

  #newListener(): AgentListener {
    const { authority, logger } = this.#options;
    return new AgentListener({
      certificate: authority.controlCertificate(),
      ca: authority.caPem,
      welcome: (socket, isOurs) => this.#agents.welcome(socket, isOurs),
      logger,
    });
  }

  #hasAgents(): boolean {
    for (const { agent } of this.#options.store.scan(tables.servers)) {
      if (agent !== undefined && agent.certificates.length > 0) return true;
    }
    return false;
  }

  #asks(): AgentAsks {
    return {
      renew: async ({ serverId, serial }, message) => {
        const { csr } = isRecord(message) ? message : {};
        if (typeof csr !== 'string') throw new ServiceError('BAD_REQUEST', 'csr: it is missing.');
        const asked = { type: 'agent-renew', serverId, serial, csr } as const;
        return this.#options.actors.ask(serversActor.at('all'), asked);
      },
    };
  }

  #tell(message: MessageOf<ServersProtocol>): void {
    try {
      this.#options.actors.tell(serversActor.at('all'), message);
    } catch (err) {
      // The mailbox is full, or the service is stopping.
      this.#options.logger.warn({ err }, 'servers_not_told');
    }
  }
}
