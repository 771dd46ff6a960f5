/**
 * Owns servers that somebody added: what is given out for them, who is let in, and what their agents tell.
 *
 * 1. A bootstrap token is good for one certificate, and a change is durable before its answer leaves. An agent that
 *    lost the answer needs another token, and is told so.
 * 2. Another token, and the end of a server, revoke every certificate in the same commit.
 * 3. A renewal revokes nothing: whatever of it gets lost, the agent has a certificate that is good.
 * 4. What is told of a server that is gone changes nothing.
 */
import { type AgentAuthority, agentCertificateMs, keyHashOf } from '../../agents/authority.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { checkedName } from '../../lib/names.ts';
import { bootstrapTokenHash, newBootstrapToken } from '../../protocol/bootstrap-token.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { GoodCertificate, ServerRecord, Takeover } from '../../store/records/records.ts';
import { insert, put, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext } from '../runtime/actor.ts';
import { localServerId } from '../../places/local-place.ts';
import { type AgentServer, bootstrapped, bootstrapTokenMs, takenOver } from './bootstrap.ts';
import type { AddedServer, ServersProtocol, ServerTakeover } from './protocol.ts';
import { Emptying } from './emptying.ts';
import { isFinal, mustFollow } from './takeover.ts';

export type ServerAuthority = Pick<
  AgentAuthority,
  'exists' | 'make' | 'caPem' | 'caKeyHash' | 'issueAgentCertificate'
>;

export interface AddedServersOptions {
  reader: Reader;
  clock: Clock;
  authority: ServerAuthority;
}

type Handlers = Omit<Actor<ServersProtocol>, 'seen' | 'lost' | 'isolation'>;

const serversMax = 1_000;
/** Of one agent. More are only made by one that loses the answers. */
const certificatesMax = 8;
const renewalEveryMs = 60_000;
/** While it is connected, when a server was last seen is true to this. */
export const seenEveryMs = 60_000;

export function addedServers(
  options: AddedServersOptions,
  context: ActorContext<ServersProtocol>,
): Handlers {
  const servers = new AddedServers(options, context);
  servers.resume();
  return {
    add: ({ name, takeover }) => servers.add(name, takeover),
    reissue: ({ serverId }) => servers.reissue(serverId),
    remove: ({ serverId, force }) => servers.remove(serverId, force),
    drain: ({ serverId, drain }) => servers.put({ ...servers.must(serverId), draining: drain }),
    bootstrap: (asked) => servers.bootstrap(asked),
    'takeover-read': ({ tokenHash }) => servers.readTakeover(tokenHash),
    'takeover-report': (report) => servers.reportTakeover(report),
    'agents-away': () => servers.allAway(),
    'agent-connected': (message) => servers.connected(message),
    'agent-seen': ({ serverId }) => servers.seen(serverId),
    'agent-lost': ({ serverId }) => servers.lost(serverId),
    'agent-refused': ({ serverId, problem }) => servers.refused(serverId, problem),
    'agent-renew': (asked) => servers.renew(asked),
  };
}

class AddedServers {
  readonly #options: AddedServersOptions;
  readonly #context: ActorContext<ServersProtocol>;
  readonly #emptying: Emptying;

  constructor(options: AddedServersOptions, context: ActorContext<ServersProtocol>) {
    this.#options = options;
    this.#context = context;
    const { reader, clock } = options;
    const failed = (serverId: string, problem: string): Promise<null> =>
      this.#change(serverId, (server) => ({
        ...server,
        agent: { ...server.agent, isLeaving: false, problem },
      }));
    this.#emptying = new Emptying({ reader, clock, context, failed });
  }

  async add(given: string, isTakeover: boolean): Promise<AddedServer> {
    const name = checkedName(given, 'name');
    const teamId = this.#context.cause?.teamId ?? null;
    if (this.#all().length >= serversMax) {
      throw new ServiceError('CONFLICT', `There are ${String(serversMax)} servers already.`);
    }
    const { authority } = this.#options;
    // In one commit with the server, which is what the activity has to tell of.
    const made = authority.exists ? null : await authority.make();
    const nowMs = this.#now();
    const { token, bootstrap } = this.#newToken(made ? keyHashOf(made) : authority.caKeyHash);
    const takeover: Takeover | null = isTakeover
      ? { state: 'waiting', updatedAtMs: nowMs, reason: null, isOver: false }
      : null;
    const server: ServerRecord = {
      ...{ id: newId('srv', nowMs), name, runtime: 'process' },
      ...{ connected: false, draining: false, version: null, lastSeenAtMs: null },
      agent: { bootstrap, certificates: [], problem: null, takeover, teamId, createdAtMs: nowMs },
    };
    await this.#context.commit([
      ...(made ? [insert(tables.agentAuthority, made)] : []),
      insert(tables.servers, server),
    ]);
    return { server, bootstrapToken: token };
  }

  async reissue(serverId: string): Promise<AddedServer> {
    const known = this.must(serverId);
    const { token, bootstrap } = this.#newToken(this.#options.authority.caKeyHash);
    const { takeover } = known.agent;
    const isOver = takeover !== null && (takeover.isOver || isFinal(takeover.state));
    const server = await this.put({
      ...known,
      connected: false,
      agent: {
        ...known.agent,
        ...{ bootstrap, certificates: [], problem: null },
        takeover: takeover && { ...takeover, isOver },
      },
    });
    return { server, bootstrapToken: token };
  }

  /** False: what is there is moved away, and the server is removed after that. */
  async remove(serverId: string, force: boolean): Promise<boolean> {
    const server = this.must(serverId);
    const { reader } = this.#options;
    const apps = reader.count(tables.apps, 'server', [serverId]);
    const databases = reader.count(tables.databases, 'server', [serverId]);
    if (!force && apps + databases > 0) {
      throw new ServiceError(
        'CONFLICT',
        `On this server are ${String(apps)} apps and ${String(databases)} databases, those in trash included. ` +
          'Delete or move them first, or have them moved here with force.',
      );
    }
    const isEmptied = force && server.connected;
    const moving =
      reader.count(tables.apps, 'moving', [serverId]) +
      reader.count(tables.databases, 'moving', [serverId]);
    if (!isEmptied && moving > 0) {
      throw new ServiceError(
        'CONFLICT',
        `${String(moving)} apps and databases are being moved from or to this server. Remove it when that is done; ` +
          'moving them to where they came from ends it.',
      );
    }
    if (isEmptied && apps + databases + moving > 0) {
      const agent = { ...server.agent, problem: null, isLeaving: true };
      await this.put({ ...server, draining: true, agent });
      this.#emptying.begin(serverId);
      return false;
    }
    await this.#context.commit([take(tables.servers, serverId)]);
    return true;
  }

  /** Goes on with what an earlier activation left. */
  resume(): void {
    for (const { id, agent } of this.#all())
      if (agent?.isLeaving === true) this.#emptying.begin(id);
  }

  async bootstrap(asked: { tokenHash: string; csr: string; name: string }): Promise<{
    serverId: string;
    certificate: string;
    ca: string;
  }> {
    const { reader, authority } = this.#options;
    const { id, agent, ...server } = bootstrapped(reader, asked.tokenHash, this.#now());
    const issued = await authority.issueAgentCertificate(asked.csr, id, [asked.name]);
    const { certificatePem, serial, notAfterMs } = issued;
    await this.put({
      ...{ id, ...server },
      agent: {
        ...agent,
        bootstrap: agent.bootstrap && { ...agent.bootstrap, usedAtMs: this.#now() },
        certificates: [{ serial, notAfterMs }],
        problem: null,
      },
    });
    return { serverId: id, certificate: certificatePem, ca: authority.caPem };
  }

  async renew(asked: {
    serverId: string;
    serial: string;
    csr: string;
  }): Promise<{ certificate: string }> {
    const { authority, reader } = this.#options;
    const server = agentServer(reader.get(tables.servers, asked.serverId));
    const good = this.#good(server?.agent.certificates ?? []);
    if (server === null || !good.some(({ serial }) => serial === asked.serial)) {
      throw new ServiceError('FORBIDDEN', 'The certificate of this agent is not good any more.');
    }
    const sinceMs = this.#now() + agentCertificateMs - (good.at(-1)?.notAfterMs ?? 0);
    if (sinceMs < renewalEveryMs) {
      const retryAfterS = Math.ceil((renewalEveryMs - sinceMs) / 1000);
      throw new ServiceError('RATE_LIMITED', 'A certificate was issued just now.', { retryAfterS });
    }
    const { certificatePem, serial, notAfterMs } = await authority.issueAgentCertificate(
      asked.csr,
      server.id,
    );
    const dropped =
      good.length < certificatesMax ? undefined : good.find((one) => one.serial !== asked.serial);
    const certificates = [...good.filter((one) => one !== dropped), { serial, notAfterMs }];
    await this.put({ ...server, agent: { ...server.agent, certificates } });
    return { certificate: certificatePem };
  }

  async readTakeover(tokenHash: string): Promise<ServerTakeover> {
    const { server, takeover } = takenOver(this.#options.reader, tokenHash, this.#now());
    if (isFinal(takeover.state)) {
      await this.#putTakeover(server, { ...takeover, isOver: true });
    }
    return viewOf(server, takeover);
  }

  async reportTakeover(report: {
    tokenHash: string;
    state: Takeover['state'];
    reason: string | null;
  }): Promise<ServerTakeover> {
    const { tokenHash, state, reason } = report;
    const { server, takeover } = takenOver(this.#options.reader, tokenHash, this.#now());
    mustFollow(takeover.state, state);
    if (takeover.state === state) return viewOf(server, takeover);
    const next: Takeover = { state, reason, updatedAtMs: this.#now(), isOver: false };
    await this.#putTakeover(server, next);
    return viewOf(server, next);
  }

  async allAway(): Promise<null> {
    const changes = this.#all()
      .filter(({ connected }) => connected)
      .map((server) => put(tables.servers, { ...server, connected: false }));
    if (changes.length > 0) await this.#context.commit(changes);
    return null;
  }

  connected({ serverId, ...told }: ServersProtocol['agent-connected']['in']): Promise<null> {
    return this.#change(serverId, (server) => ({
      ...{ ...server, ...told, connected: true, lastSeenAtMs: this.#now() },
      agent: { ...server.agent, problem: null },
    }));
  }

  seen(serverId: string): Promise<null> {
    return this.#change(serverId, (server) => {
      const sinceMs = this.#now() - (server.lastSeenAtMs ?? 0);
      return server.connected && sinceMs >= seenEveryMs
        ? { ...server, lastSeenAtMs: this.#now() }
        : server;
    });
  }

  lost(serverId: string): Promise<null> {
    return this.#change(serverId, (server) =>
      server.connected ? { ...server, connected: false, lastSeenAtMs: this.#now() } : server,
    );
  }

  refused(serverId: string, problem: string): Promise<null> {
    return this.#change(serverId, (server) =>
      server.agent.problem === problem
        ? server
        : { ...server, agent: { ...server.agent, problem } },
    );
  }

  /** One that was added; NOT_FOUND, and CONFLICT for another one. */
  must(serverId: string): AgentServer {
    const record = this.#options.reader.get(tables.servers, serverId);
    const server = agentServer(record);
    if (server !== null) return server;
    if (record === undefined && serverId !== localServerId) {
      throw new ServiceError('NOT_FOUND', 'No such server.');
    }
    const detail = 'This server was not added here: its runtime tells what it is.';
    throw new ServiceError('CONFLICT', detail);
  }

  async put(server: AgentServer): Promise<AgentServer> {
    await this.#context.commit([put(tables.servers, server)]);
    return server;
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #all(): Readonly<ServerRecord>[] {
    return this.#options.reader.list(tables.servers, 'added', [], { limit: serversMax });
  }

  #good(certificates: readonly GoodCertificate[]): readonly GoodCertificate[] {
    return certificates.filter(({ notAfterMs }) => this.#now() < notAfterMs);
  }

  #newToken(authorityHash: string) {
    const token = newBootstrapToken(authorityHash);
    const expiresAtMs = this.#now() + bootstrapTokenMs;
    const tokenHash = bootstrapTokenHash(token);
    return { token, bootstrap: { tokenHash, expiresAtMs, usedAtMs: null } };
  }

  async #putTakeover(server: AgentServer, takeover: Takeover): Promise<void> {
    await this.put({ ...server, agent: { ...server.agent, takeover } });
  }

  /** Nothing is written where `change` gives the same record back, or the server is gone. */
  async #change(serverId: string, change: (server: AgentServer) => AgentServer): Promise<null> {
    const server = agentServer(this.#options.reader.get(tables.servers, serverId));
    if (server === null) return null;
    const next = change(server);
    if (next !== server) await this.put(next);
    return null;
  }
}

function agentServer(record: Readonly<ServerRecord> | undefined): AgentServer | null {
  return record?.agent === undefined ? null : (record as AgentServer);
}

function viewOf({ id }: AgentServer, { state, updatedAtMs }: Takeover): ServerTakeover {
  return { serverId: id, state, updatedAtMs };
}
