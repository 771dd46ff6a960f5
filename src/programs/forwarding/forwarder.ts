/**
 * Owns ports of loopback that lead to several programs in turn, as a table on disk says. It runs beside
 * Gangway, and continues while Gangway restarts.
 *
 * 1. A connection goes to the next target that takes it. When no target does, the connection is closed.
 * 2. A new table applies to the next connection. An open connection stays with its target.
 */
import fs from 'node:fs';
import net from 'node:net';

import { connectWithin, joinSockets } from '../../lib/connect.ts';
import type { Forward } from '../../protocol/forwarding.ts';

const connectMs = 2000;
const lookEveryMs = 200;

/** Reads the file now, at each connection, and now and then for new ports. */
export function startForwarding(file: string): { close(): void } {
  const forwards = new Map<number, LivePort>();
  let seen = '';
  const read = (): void => {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    const version = stat ? `${stat.ino}:${stat.mtimeMs}:${stat.size}` : '';
    if (version === seen) return;
    seen = version;
    follow(forwards, readTable(file), read);
  };
  const look = (): void => {
    read();
    for (const port of forwards.values()) port.listen();
  };
  look();
  const timer = setInterval(look, lookEveryMs);
  return {
    close: () => {
      clearInterval(timer);
      follow(forwards, [], read);
    },
  };
}

function readTable(file: string): Forward[] {
  try {
    const table: unknown = JSON.parse(fs.readFileSync(file, 'utf8'));
    return Array.isArray(table) ? (table as Forward[]) : [];
  } catch {
    return []; // Without a file nothing is forwarded. A file is never half written.
  }
}

function follow(ports: Map<number, LivePort>, table: readonly Forward[], renew: () => void): void {
  const wanted = new Map(table.map(({ port, targets }) => [port, targets]));
  for (const [port, live] of ports) {
    if (wanted.has(port)) continue;
    live.close();
    ports.delete(port);
  }
  for (const [port, targets] of wanted) {
    const live = ports.get(port) ?? new LivePort(port, renew);
    live.targets = targets;
    ports.set(port, live);
  }
}

class LivePort {
  targets: Forward['targets'] = [];
  readonly #port: number;
  /** Sets the targets that the table names now. */
  readonly #renew: () => void;
  #server: net.Server | null = null;
  #next = 0;

  constructor(port: number, renew: () => void) {
    this.#port = port;
    this.#renew = renew;
  }

  /** Called at every look, so a port that another process holds is tried again. */
  listen(): void {
    if (this.#server) return;
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.#take(socket),
    );
    server.once('error', () => {
      if (this.#server === server) this.#server = null;
      server.close();
    });
    server.listen(this.#port, '127.0.0.1');
    this.#server = server;
  }

  close(): void {
    this.#server?.close();
  }

  #take(socket: net.Socket): void {
    this.#renew();
    const { targets } = this;
    const first = this.#next++ % Math.max(1, targets.length);
    const inTurn = [...targets.slice(first), ...targets.slice(0, first)];
    // The connection may end before a target is found.
    socket.on('error', () => undefined);
    connectFirst(inTurn).then(
      (target) => joinSockets(socket, target),
      () => socket.destroy(),
    );
  }
}

async function connectFirst(targets: Forward['targets']): Promise<net.Socket> {
  for (const { host, port } of targets) {
    try {
      const address = { host, port, noDelay: true, allowHalfOpen: true };
      return await connectWithin(address, connectMs);
    } catch {
      // The next target may take it.
    }
  }
  throw new Error('Cannot connect: no target takes it');
}
