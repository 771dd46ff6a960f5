/**
 * Owns ports that are kept from others while whoever they belong to does not listen there: we listen in its
 * place, and cut off who comes or lead on to where it listens.
 *
 * 1. A port is held in the turn of the loop that asks for it, unless somebody listens there already.
 * 2. It is free again in the turn that lets it go, and no connection of ours stands in the way of the next.
 * 3. Who is led on comes from this machine, and is there with so many others at most. Who is not let in takes
 *    no place of theirs.
 * 4. A browser is not led on: it would show whoever is there the cookies that it has of this machine, whatever
 *    their port. Databases don't speak HTTP, but who has a console of one can make another program of it.
 */
import net from 'node:net';

import { connectWithin, joinSockets } from '../connect.ts';
import { isLoopback } from '../networks.ts';
import { connectToOwn, type OwnSocket } from '../untrusted-files/socket.ts';

/** Where programs of this machine are asked. */
const loopback = '127.0.0.1';

const connectMs = 5000;
/** Of one port. More than databases take. */
const ledMax = 512;
/** Of one port, while it is looked who they are. */
const comingMax = 4096;

/** How a request of HTTP begins. Clients of databases send no such thing before their password. */
const requestStart = /^[A-Z]{1,20} \//;
const requestStartBytes = 22;

export interface Way {
  readonly to: { readonly host: string; readonly port: number } | OwnSocket;
  /** Whether who is at the other end is let in; null: all programs of this machine are. */
  readonly lets: ((client: net.Socket) => Promise<boolean>) | null;
}

/** Where a port leads now; undefined: nowhere. What `to` is stays the very same as long as it does. */
export type LeadsTo = (port: number) => Way | undefined;

interface Held {
  server: net.Server;
  /** Whether we have it. */
  result: Promise<boolean>;
  /** How many were led on, and are there still. */
  led: number;
}

export class HeldPorts {
  readonly #held = new Map<number, Held>();
  readonly #leadsTo: LeadsTo;

  constructor(leadsTo: LeadsTo = () => undefined) {
    this.#leadsTo = leadsTo;
  }

  /** Whether who listens there is us. */
  has(port: number): boolean {
    return this.#held.has(port);
  }

  /**
   * Resolves with whether it is held. May be repeated: what was somebody else's may have become free. A port
   * that only programs of this machine ask for is held on loopback.
   */
  hold(port: number, on: 'everywhere' | 'loopback' = 'everywhere'): Promise<boolean> {
    const host = on === 'loopback' ? loopback : undefined;
    return this.#held.get(port)?.result ?? this.#listen(port, host);
  }

  letGo(port: number): void {
    this.#held.get(port)?.server.close();
    this.#held.delete(port);
  }

  /** On every address, else on loopback: another address may be somebody's. */
  #listen(port: number, host?: string): Promise<boolean> {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#lead(port, held, socket).catch(() => socket.resetAndDestroy());
    });
    server.maxConnections = ledMax + comingMax;
    server.unref();
    const result = new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true));
      server.on('error', () => {
        server.close();
        const isWanted = this.#held.get(port)?.server === server;
        if (isWanted) this.#held.delete(port);
        resolve(isWanted && host === undefined ? this.#listen(port, loopback) : false);
      });
    });
    const held: Held = { server, result, led: 0 };
    this.#held.set(port, held);
    // Without a host it listens at once, before anybody else has a turn.
    server.listen({ port, exclusive: true, ...(host !== undefined && { host }) });
    return result;
  }

  /** Rejects for who is cut off: a reset leaves no state in the kernel that keeps the owner from listening. */
  async #lead(port: number, held: Held, socket: net.Socket): Promise<void> {
    socket.on('error', () => undefined); // It is closed, and that is all.
    const way = this.#leadsTo(port);
    const isFromHere = isLoopback((socket.localAddress ?? '').replace(/^::ffff:/, ''));
    if (way === undefined || !isFromHere || (await way.lets?.(socket)) === false) throw refused();
    if (socket.destroyed || held.led >= ledMax) throw refused();
    held.led++;
    socket.once('close', () => held.led--);
    const other = await connectTo(way.to);
    const cut = (): void => {
      other.destroy();
      socket.resetAndDestroy();
    };
    if (this.#leadsTo(port)?.to !== way.to) {
      cut();
      return;
    }
    socket.once('data', (first: Buffer) => {
      if (requestStart.test(first.toString('latin1', 0, requestStartBytes))) cut();
    });
    joinSockets(socket, other);
  }
}

function refused(): Error {
  return new Error('Cannot lead on: not to whom it is');
}

function connectTo(to: Way['to']): Promise<net.Socket> {
  return 'path' in to
    ? connectToOwn(to, connectMs)
    : connectWithin({ ...to, noDelay: true, allowHalfOpen: true }, connectMs);
}
