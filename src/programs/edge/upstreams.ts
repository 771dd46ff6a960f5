/**
 * Owns the connections from the edge to apps.
 *
 * A connection is handed to a request only once it stands. So a request whose app refuses has not
 * begun to send its body, and can be sent elsewhere.
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

/** Keeps idle connections; for all requests of the edge. */
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

/** For one request, over this very connection. */
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
