/**
 * Owns how much of the edge one client may hold. A client is a network (see `networkOf`); all of loopback
 * is one.
 *
 * 1. A client has so many connections at most, and so many of them on which no request is under way: those
 *    that are kept for a next one, and those whose head is not whole.
 * 2. What is one too many costs who brings it: of the client's own connections the one that has waited for
 *    longest is closed. Where none waits, the new one is refused.
 * 3. When so many heads of a client came in one turn of the loop, the connections on which it waits are not read
 *    until later turns, some in each: heads that come all at once hold up no other client.
 * 4. New connections of a client are let in at a pace (`door.ts`).
 * 5. There are at most `connectionsMax` of all clients. Beyond, the one of them all that has waited for
 *    longest makes room: whoever sends a whole head at once gets in while others send half ones.
 */
import type { Socket } from 'node:net';

import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { openFilesMax } from '../../lib/open-files.ts';
import { type InNetworks, isLoopback, networks, sourceOf } from '../../lib/networks.ts';
import { Door, type Pace } from './door.ts';

interface Bounds {
  connections: number;
  waiting: number;
  /** Of new ones. */
  pace: Pace;
}

export interface ClientsOptions {
  clock: Clock;
  logger: Logger;
  /** Of all clients together. */
  connectionsMax?: number;
  each?: Bounds;
  /** Of loopback and of a trusted proxy, which come for many. */
  near?: Bounds;
}

interface Client {
  name: string;
  connections: number;
  /** The one that has waited for longest is the first. */
  waiting: Set<Held>;
  /** Those of them that are not read. */
  unread: Set<Held>;
  /** Heads of this turn, as far as they count. */
  heads: number;
  isTold: boolean;
}

/** Of one client in one turn; each takes a tenth of a millisecond. Then so many connections are read in a turn. */
const [headsMax, readMax] = [64, 16];

interface Held {
  socket: Socket;
  client: Client;
  requests: number;
  isOpen: boolean;
}

export class Clients {
  readonly #logger: Logger;
  readonly #connectionsMax: number;
  readonly #each: Bounds;
  readonly #near: Bounds;
  readonly #clients = new Map<string, Client>();
  readonly #held = new WeakMap<Socket, Held>();
  /** Of all clients, in the order in which they began to wait. */
  readonly #waiting = new Set<Held>();
  /** Those whose heads are counted, or whose connections are not read. */
  readonly #counted = new Set<Client>();
  readonly #door: Door;
  #connections = 0;
  #inTrusted: InNetworks = () => false;

  constructor({ clock, logger, connectionsMax, each, near }: ClientsOptions) {
    this.#logger = logger;
    this.#door = new Door(clock);
    // Each may need another one to an app, and workloads need files, too.
    this.#connectionsMax = connectionsMax ?? Math.min(10_000, Math.floor((openFilesMax() * 3) / 8));
    this.#each = each ?? {
      connections: 2000,
      waiting: 1000,
      pace: { atOnce: 64, everyMs: 4 },
    };
    this.#near = near ?? {
      connections: 8000,
      waiting: 4000,
      pace: { atOnce: 512, everyMs: 0.5 },
    };
  }

  /** Of all clients. */
  get connections(): number {
    return this.#connections;
  }

  /** Addresses and CIDRs of proxies, from now on. Throws when one is neither. */
  trust(proxies: readonly string[]): void {
    this.#inTrusted = networks(proxies);
  }

  isTrusted(address: string): boolean {
    return this.#inTrusted(address);
  }

  /**
   * Counts a new connection until it closes, and calls `letIn` when it is to be read; false: there is no room for
   * it.
   */
  admit(socket: Socket, letIn: () => void): boolean {
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    const client = this.#clientOf(address);
    const bounds = this.#boundsOf(address);
    if (!this.#makeRoom(client, bounds)) {
      if (client.connections === 0) this.#clients.delete(client.name);
      return false;
    }
    const held: Held = { socket, client, requests: 0, isOpen: true };
    this.#held.set(socket, held);
    this.#connections++;
    client.connections++;
    this.#wait(held);
    socket.once('close', () => this.#release(held));
    this.#door.come(client.name, bounds.pace, socket, letIn);
    return true;
  }

  /** The connection is used through `inner` from now on: its bytes are encrypted. */
  secured(socket: Socket, inner: Socket): void {
    const held = this.#held.get(socket);
    if (held === undefined) return;
    held.socket = inner;
    this.#held.set(inner, held);
  }

  /** A head on the connection is whole. The returned function says that its request is over. */
  begin(socket: Socket): () => void {
    const held = this.#held.get(socket);
    if (!held) return () => undefined;
    held.requests++;
    this.#waiting.delete(held);
    held.client.waiting.delete(held);
    if (held.client.unread.delete(held)) socket.resume();
    this.#count(held.client);
    return () => {
      held.requests--;
      if (held.requests === 0 && held.isOpen) this.#wait(held);
    };
  }

  /** While fewer wait than may come in a turn, there is nothing to count. */
  #count(client: Client): void {
    if (client.waiting.size < headsMax - client.heads) return;
    client.heads++;
    if (this.#counted.size === 0) setImmediate(() => this.#nextTurn());
    this.#counted.add(client);
    if (client.heads < headsMax) return;
    for (const held of client.waiting) {
      if (client.unread.has(held) || this.#door.isWaiting(client.name, held.socket)) continue;
      client.unread.add(held);
      held.socket.pause();
    }
  }

  #nextTurn(): void {
    for (const client of this.#counted) {
      client.heads = 0;
      let room = readMax;
      for (const held of client.unread) {
        if (room-- === 0) break;
        client.unread.delete(held);
        held.socket.resume();
      }
      if (client.unread.size === 0) this.#counted.delete(client);
    }
    if (this.#counted.size > 0) setImmediate(() => this.#nextTurn());
  }

  #makeRoom(client: Client, bounds: Bounds): boolean {
    const waits = client.waiting.size >= bounds.waiting;
    const isFull = client.connections >= bounds.connections;
    if (waits || isFull) this.#tell(client);
    if ((waits || isFull) && !this.#closeFirst(client.waiting)) return false;
    return this.#connections < this.#connectionsMax || this.#closeFirst(this.#waiting);
  }

  /** Whether there was one to close. */
  #closeFirst(waiting: ReadonlySet<Held>): boolean {
    const [first] = waiting;
    if (!first) return false;
    this.#release(first);
    first.socket.destroy();
    return true;
  }

  #wait(held: Held): void {
    this.#waiting.add(held);
    held.client.waiting.add(held);
  }

  #release(held: Held): void {
    if (!held.isOpen) return;
    held.isOpen = false;
    const { client } = held;
    this.#waiting.delete(held);
    client.waiting.delete(held);
    client.unread.delete(held);
    this.#door.leave(client.name, held.socket);
    this.#connections--;
    client.connections--;
    if (client.connections === 0) this.#clients.delete(client.name);
  }

  #clientOf(address: string): Client {
    const name = sourceOf(address);
    const known = this.#clients.get(name);
    if (known) return known;
    const client: Client = {
      name,
      connections: 0,
      waiting: new Set(),
      unread: new Set(),
      heads: 0,
      isTold: false,
    };
    this.#clients.set(name, client);
    return client;
  }

  #boundsOf(address: string): Bounds {
    return isLoopback(address) || this.#inTrusted(address) ? this.#near : this.#each;
  }

  #tell(client: Client): void {
    if (client.isTold) return;
    client.isTold = true;
    const { name, connections } = client;
    this.#logger.warn({ client: name, connections }, 'edge_client_bounded');
  }
}
