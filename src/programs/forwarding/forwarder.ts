/**
 * Owns ports of loopback that lead to several programs, as a table on disk says. It runs beside Gangway, and
 * continues while Gangway restarts.
 *
 * 1. A connection goes to the target with the fewest (`lib/balancer.ts`), or to another where that does not take
 *    it. When no target does, the connection is closed.
 * 2. A new table applies to the next connection. An open connection stays with its target.
 */
import fs from 'node:fs';
import net from 'node:net';

import { Balancer } from '../../lib/balancer.ts';
import { systemClock } from '../../lib/clock.ts';
import { connectWithin, joinSockets } from '../../lib/connect.ts';
import type { Forward } from '../../protocol/forwarding.ts';

type Target = Forward['targets'][number];

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
    live.lead(targets);
    ports.set(port, live);
  }
}

class LivePort {
  #targets: readonly Target[] = [];
  readonly #balancer = new Balancer<Target>(systemClock);
  readonly #port: number;
  /** Sets the targets that the table names now. */
  readonly #renew: () => void;
  #server: net.Server | null = null;

  constructor(port: number, renew: () => void) {
    this.#port = port;
    this.#renew = renew;
  }

  /** A target that stays is the same. */
  lead(targets: readonly Target[]): void {
    const known = this.#targets;
    const same = ({ host, port }: Target) =>
      known.find((one) => one.host === host && one.port === port);
    this.#targets = targets.map((target) => same(target) ?? target);
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
    // The connection may end before a target is found.
    socket.on('error', () => undefined);
    this.#connect().then(
      (upstream) => joinSockets(socket, upstream),
      () => socket.destroy(),
    );
  }

  async #connect(): Promise<net.Socket> {
    const balancer = this.#balancer;
    for (const target of balancer.order(this.#targets)) {
      balancer.begin(target);
      try {
        const address = { ...target, noDelay: true, allowHalfOpen: true };
        const upstream = await connectWithin(address, connectMs);
        upstream.once('close', () => balancer.end(target));
        balancer.noteTaken(target);
        return upstream;
      } catch {
        balancer.end(target);
        balancer.noteRefused(target); // The next target may take it.
      }
    }
    throw new Error('Cannot connect: no target takes it');
  }
}
