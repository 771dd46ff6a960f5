/**
 * Owns the connections from the edge to apps.
 *
 * 1. A request gets its connection only once that is established. So when an app refuses the connection, no
 *    part of the body was sent, and the request can go elsewhere.
 * 2. Nothing is sent over a connection to a workload before it is shown who took it. In a network of the
 *    workload's own, at the address that it had before the connection was opened and still has, that is
 *    nobody else. On the machine's, one of its own sockets listened there before and still does: meanwhile
 *    nobody else could.
 */
import type { ClientRequestArgs } from 'node:http';
import net from 'node:net';
import type { Duplex } from 'node:stream';

import type { OwnPlace, Target, Tenants } from '../../protocol/edge-messages.ts';
import { connectWithin } from '../../lib/connect.ts';
import { http } from './lean-http.ts';

const connectMs = 5000;
const idlePerTargetMax = 64;
/** The second time nothing that was seen earlier counts. */
const triesMax = 2;

/** Somebody else took the connection, or nobody is known to have. */
class NotItsOwn extends Error {
  readonly code = 'ENOTOWN';

  constructor() {
    super('Cannot connect: it is not the workload that listens there');
    this.name = 'NotItsOwn';
  }
}

export class Upstreams {
  readonly #tenants: Tenants;
  readonly #isWanted: (target: Target) => boolean;
  /** The sockets that listened there when that was looked at last. */
  readonly #seen = new WeakMap<Target, ReadonlySet<string>>();
  /** A target's own: what two of them have at the same address is not the same. */
  readonly #agents = new Map<Target, SharedAgent>();

  /** `isWanted`: whether requests may go there still. */
  constructor(tenants: Tenants, isWanted: (target: Target) => boolean) {
    this.#tenants = tenants;
    this.#isWanted = isWanted;
  }

  /** Keeps connections to the target. */
  agentOf(target: Target): SharedAgent {
    const known = this.#agents.get(target);
    if (known !== undefined) return known;
    for (const one of this.#agents.keys()) if (!this.#isWanted(one)) this.#agents.delete(one);
    const agent = new SharedAgent(() => this.connect(target));
    this.#agents.set(target, agent);
    return agent;
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /** Rejects when it is not the target's workload that listens there; see 2. */
  async connect(target: Target): Promise<net.Socket> {
    if (target.workload === undefined) return connectTo(target);
    const place = this.#tenants.ownPlace(target);
    if (place !== undefined) return this.#connectInside(target, place);
    for (let tries = 0; tries < triesMax; tries++) {
      const before = this.#seen.get(target) ?? (await this.#tenants.ownSockets(target));
      if (before.size === 0) break;
      const socket = await connectTo(target);
      socket.on('error', () => undefined); // That it is destroyed tells.
      const after = await this.#tenants.ownSockets(target);
      if (after.size === 0) this.#seen.delete(target);
      else this.#seen.set(target, after);
      const isSame = [...after].some((listener) => before.has(listener));
      if (isSame && !socket.destroyed) return socket;
      socket.destroy();
    }
    throw new NotItsOwn();
  }

  async #connectInside(target: Target, place: OwnPlace): Promise<net.Socket> {
    const socket = await connectTo(place).catch(async (error: unknown) => {
      if (!(await this.#tenants.leadIn(target))) throw error;
      return connectTo(place);
    });
    if (this.#tenants.ownPlace(target) === place) return socket;
    socket.destroy();
    throw new NotItsOwn();
  }
}

function connectTo({ host, port }: OwnPlace): Promise<net.Socket> {
  return connectWithin({ host, port, noDelay: true }, connectMs);
}

type Created = (error: Error | null, stream: Duplex) => void;

/** Keeps idle connections, for all requests to a target. */
class SharedAgent extends http.Agent {
  readonly #connect: () => Promise<net.Socket>;

  constructor(connect: () => Promise<net.Socket>) {
    super({ keepAlive: true, maxFreeSockets: idlePerTargetMax, scheduling: 'lifo' });
    this.#connect = connect;
  }

  override createConnection(_options: ClientRequestArgs, created?: Created): undefined {
    this.#connect().then(
      (socket) => created?.(null, socket),
      (error: unknown) => created?.(error as Error, new net.Socket()),
    );
  }
}

/** Sends one request over this very connection. */
export class SingleAgent extends http.Agent {
  readonly #socket: net.Socket;

  constructor(socket: net.Socket) {
    super({ keepAlive: false });
    this.#socket = socket;
  }

  override createConnection(): net.Socket {
    return this.#socket;
  }
}
