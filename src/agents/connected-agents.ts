/**
 * Owns which agents are connected.
 *
 * 1. A connection is of the server that its certificate is for, whatever else the agent says.
 * 2. Each is asked first what it is. One that is not let in hears why, and is closed; what is open when its
 *    certificate is good no more ends at once.
 * 3. For each server at most one connection of each kind is kept, the newest.
 */
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { AgentLink, AgentLinks, Lane } from '../protocol/agent-link.ts';
import { isRelease, misfitOf } from '../protocol/agent-version.ts';
import { type Goodbye, type HelloAnswer, isRecord, laneHosts } from '../protocol/agent-wire.ts';
import { AgentLane } from './lane.ts';
import { ServerLink } from './server-link.ts';
import { type AgentAsks, hear } from './told.ts';

export interface ConnectedAgentsOptions {
  /** Ours. */
  version: string;
  clock: Clock;
  logger: Logger;
  /** The server that a certificate is for; null: it is not, or no more, good. */
  admit: (certificate: X509Certificate) => string | null;
  /** The same for one that is not good only because its time is over, by our clock. */
  expired: (certificate: X509Certificate) => string | null;
  asks: AgentAsks;
  onConnected: (serverId: string, agent: HelloAnswer) => void;
  onLost: (serverId: string) => void;
  /** Its certificate was not revoked, but it is not let in: a sentence says why. */
  onRefused: (serverId: string, sentence: string) => void;
  /** How long an agent may be silent until it is cut. */
  silenceMs?: number;
  /** What all visitors may leave unread on a connection. */
  unreadMaxBytes?: number;
}

interface Guest {
  serverId: string;
  certificate: X509Certificate;
  lane: AgentLane;
}

const revoked: Goodbye = {
  reason: 'revoked',
  sentence:
    'The certificate of this agent is not good any more: it was revoked, has expired, or its server was removed.',
};
const expired: Goodbye = {
  reason: 'expired',
  sentence:
    'The certificate of this agent has expired, or the clock of Gangway is wrong. The agent tries it again; ' +
    'an administrator gets another command for this server with reissueServerBootstrap.',
};
const draining: Goodbye = { reason: 'draining', sentence: 'Gangway is shutting down.' };
const nameMax = 255;

export class ConnectedAgents implements AgentLinks {
  readonly #options: ConnectedAgentsOptions;
  readonly #links = new Map<string, ServerLink>();
  readonly #guests = new Set<Guest>();
  #isClosed = false;

  constructor(options: ConnectedAgentsOptions) {
    this.#options = options;
  }

  of(serverId: string): AgentLink {
    return this.#link(serverId);
  }

  /** Takes a connection whose handshake is over. `isOurs`: its certificate is of our authority. */
  welcome(socket: TLSSocket, isOurs: boolean): void {
    const lane = laneOf(socket);
    const certificate = socket.getPeerX509Certificate();
    if (lane === null || certificate === undefined || !isOurs || this.#isClosed) {
      socket.destroy();
      return;
    }
    const { clock, silenceMs, unreadMaxBytes } = this.#options;
    const serverId = this.#options.admit(certificate);
    const one = new AgentLane({
      ...{ lane, socket, clock },
      ...(silenceMs !== undefined && { silenceMs }),
      ...(unreadMaxBytes !== undefined && { unreadMaxBytes }),
    });
    if (serverId === null) {
      this.#dismiss(one, certificate);
      return;
    }
    const guest = { serverId, certificate, lane: one };
    this.#guests.add(guest);
    one.lost.addEventListener('abort', () => this.#guests.delete(guest), { once: true });
    void this.#letIn(guest);
  }

  /** Call this when certificates were revoked: who has one of them is cut off at once. */
  review(): void {
    for (const { certificate, serverId, lane } of [...this.#guests]) {
      if (this.#options.admit(certificate) !== serverId) this.#dismiss(lane, certificate);
    }
  }

  /** Nobody is let in any more. */
  close(): void {
    this.#isClosed = true;
    for (const { lane } of [...this.#guests]) lane.dismiss(draining);
  }

  /** Closes what `close` may have left open. */
  abort(): void {
    this.#isClosed = true;
    for (const { lane } of [...this.#guests]) lane.close();
  }

  /** One that is told to be revoked ends for good, which a wrong clock of ours is no reason for. */
  #dismiss(lane: AgentLane, certificate: X509Certificate): void {
    const serverId = this.#options.expired(certificate);
    lane.dismiss(serverId === null ? revoked : expired);
    if (serverId !== null) this.#options.onRefused(serverId, expired.sentence);
  }

  async #letIn(guest: Guest): Promise<void> {
    const { serverId, lane } = guest;
    const { version, clock, logger, onRefused } = this.#options;
    try {
      const agent = answerIn(await lane.hello({ version, serverId, nowMs: clock.now() }));
      const misfit = misfitOf(version, agent.version);
      if (misfit !== null) {
        lane.dismiss({ reason: 'version', sentence: misfit });
        onRefused(serverId, misfit);
        return;
      }
      const isControl = lane.lane === 'control';
      if (isControl) await this.#listenTo(guest);
      this.#link(serverId).attach({ lane, run: agent.run });
      // Behind what it replaced, which is told to be lost.
      if (isControl && !lane.lost.aborted) this.#tellOf(guest, agent);
    } catch (err) {
      logger.warn({ err, server: serverId }, 'agent_not_let_in');
      lane.close();
    }
  }

  #tellOf({ serverId, lane }: Guest, agent: HelloAnswer): void {
    const { onConnected, onLost } = this.#options;
    onConnected(serverId, agent);
    lane.lost.addEventListener('abort', () => onLost(serverId), { once: true });
  }

  async #listenTo({ serverId, lane, certificate }: Guest): Promise<void> {
    const { asks, clock, logger } = this.#options;
    const link = this.#link(serverId);
    const stream = await lane.told();
    const tell = (name: string, message: unknown): void =>
      link.tell({ type: 'told', name, message });
    const peer = { serverId, serial: certificate.serialNumber };
    hear({ peer, stream, asks, tell, clock, logger })
      .catch((err: unknown) => {
        if (!lane.lost.aborted) logger.warn({ err, server: serverId }, 'agent_not_understood');
      })
      .finally(() => lane.close());
  }

  #link(serverId: string): ServerLink {
    const known = this.#links.get(serverId);
    if (known !== undefined) return known;
    const link = new ServerLink(serverId, this.#options);
    this.#links.set(serverId, link);
    return link;
  }
}

function laneOf({ servername }: TLSSocket): Lane | null {
  if (servername === laneHosts.control) return 'control';
  return servername === laneHosts.bulk ? 'bulk' : null;
}

function answerIn(answer: unknown): HelloAnswer {
  const { version, run, host } = isRecord(answer) ? answer : {};
  const isFit = [version, run, host].every(
    (one) => typeof one === 'string' && one.length <= nameMax,
  );
  if (!isFit || !isRelease(version as string)) {
    throw new Error('Cannot let an agent in: it does not say what it is');
  }
  return { version: version as string, run: run as string, host: host as string };
}
