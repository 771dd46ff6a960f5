/**
 * Owns ports that are kept from others while whoever they belong to does not listen there: we listen in its
 * place and cut off who comes.
 *
 * 1. A port is held in the turn of the loop that asks for it, unless somebody listens there already.
 * 2. It is free again in the turn that lets it go, and no connection of ours stands in the way of the next.
 */
import net from 'node:net';

/** Where programs of this machine are asked. */
const loopback = '127.0.0.1';

interface Held {
  server: net.Server;
  /** Whether we have it. */
  result: Promise<boolean>;
}

export class HeldPorts {
  readonly #held = new Map<number, Held>();

  /** Whether who listens there is us. */
  has(port: number): boolean {
    return this.#held.has(port);
  }

  /** Resolves with whether it is held. May be repeated: what was somebody else's may have become free. */
  hold(port: number): Promise<boolean> {
    return this.#held.get(port)?.result ?? this.#listen(port);
  }

  letGo(port: number): void {
    this.#held.get(port)?.server.close();
    this.#held.delete(port);
  }

  /** On every address, else on loopback: another address may be somebody's. */
  #listen(port: number, host?: string): Promise<boolean> {
    // A reset leaves no state in the kernel that would keep the owner from listening.
    const server = net.createServer((socket) => socket.resetAndDestroy());
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
    this.#held.set(port, { server, result });
    // Without a host it listens at once, before anybody else has a turn.
    server.listen({ port, exclusive: true, ...(host !== undefined && { host }) });
    return result;
  }
}
