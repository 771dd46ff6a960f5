/** Owns who listens on which port of this machine, and the choice of free ports. */
import fs from 'node:fs';
import net from 'node:net';

import { type Listener, listeningSockets } from './listening-sockets.ts';
import type { Clock } from '../clock.ts';
import { findMembers, type Membership } from './processes.ts';

// All addresses, and loopback. An IPv6 socket for all addresses takes IPv4 as well.
const reachedThroughLoopback: ReadonlySet<string> = new Set(['0.0.0.0', '127.0.0.1', '::']);

/** Inodes of the sockets that take connections to `127.0.0.1:<port>`. */
function listenersOn(port: number): Set<string> {
  const sockets = listeningSockets('/proc/net').filter(
    (socket) => socket.port === port && reachedThroughLoopback.has(socket.address),
  );
  return new Set(sockets.map(({ inode }) => inode));
}

/** Where the workload listens. */
export function listenersOf(membership: Membership): Listener[] {
  const all = listeningSockets('/proc/net');
  const own = new Set(findMembers(membership).flatMap(({ pid }) => socketsOf(pid)));
  return all.filter(({ inode }) => own.has(inode)).map(({ address, port }) => ({ address, port }));
}

function socketsOf(pid: number): string[] {
  const dir = `/proc/${String(pid)}/fd`;
  try {
    return fs.readdirSync(dir).flatMap((fd) => {
      const target = fs.readlinkSync(`${dir}/${fd}`);
      return target.startsWith('socket:[') ? [target.slice('socket:['.length, -1)] : [];
    });
  } catch {
    return []; // The process ended, or closed what was just listed. The next probe sees that.
  }
}

/** Whether every listener on the port belongs to the workload. */
export function probePort(
  port: number,
  membership: Membership,
): 'listening' | 'silent' | 'foreign' {
  const listeners = listenersOn(port);
  if (listeners.size === 0) return 'silent';
  for (const { pid } of findMembers(membership)) {
    for (const inode of socketsOf(pid)) listeners.delete(inode);
    if (listeners.size === 0) return 'listening';
  }
  return 'foreign';
}

/** How long a port is not given again: whoever got it needs time to listen. */
const reserveMs = 120_000;
const triesMax = 50;

export class FreePorts {
  readonly #clock: Clock;
  readonly #handedOut = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A port nobody listens on, not handed out lately and not in `taken`. */
  async next(taken: ReadonlySet<number>): Promise<number> {
    const now = this.#clock.now();
    for (const [port, atMs] of this.#handedOut) {
      if (now - atMs > reserveMs) this.#handedOut.delete(port);
    }
    for (let tries = 0; tries < triesMax; tries++) {
      const port = await systemPort();
      if (this.#handedOut.has(port) || taken.has(port)) continue;
      this.#handedOut.set(port, now);
      return port;
    }
    throw new Error('Cannot find a free port: the system offers none');
  }
}

/** A port that is free on every address: an app may listen on any. */
async function systemPort(): Promise<number> {
  try {
    return await boundPort('::');
  } catch {
    return boundPort('0.0.0.0'); // A machine without IPv6.
  }
}

function boundPort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen({ port: 0, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('Cannot find a free port: no address'));
      });
    });
  });
}
