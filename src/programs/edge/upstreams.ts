/**
 * Owns the connections from the edge to apps.
 *
 * A request gets its connection only once that is established. So when an app refuses the connection, no
 * part of the body was sent, and the request can go elsewhere.
 */
import type { ClientRequestArgs } from 'node:http';
import net from 'node:net';
import type { Duplex } from 'node:stream';

import { connectWithin } from '../../lib/connect.ts';
import { http } from './lean-http.ts';
import type { Target } from './routes.ts';

const connectMs = 5000;
const idlePerTargetMax = 64;

export function connectTo({ host, port }: Target): Promise<net.Socket> {
  return connectWithin({ host, port, noDelay: true }, connectMs);
}

type Created = (error: Error | null, stream: Duplex) => void;

/** Keeps idle connections, for all requests of the edge. */
export class SharedAgent extends http.Agent {
  constructor() {
    super({ keepAlive: true, maxFreeSockets: idlePerTargetMax, scheduling: 'lifo' });
  }

  override createConnection(options: ClientRequestArgs, created?: Created): undefined {
    const target = { host: options.host ?? '127.0.0.1', port: Number(options.port) };
    connectTo(target).then(
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
