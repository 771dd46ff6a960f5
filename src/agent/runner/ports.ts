/** Owns the look at who listens on which port of this machine, and the choice of free ones. */
import fs from 'node:fs';
import net from 'node:net';

import type { Clock } from '../../lib/clock.ts';
import { findMembers } from './processes.ts';
import type { Membership } from './processes.ts';

const listenState = '0A';
// As /proc/net/tcp and tcp6 write them: any address, loopback, and both as IPv4 in IPv6.
const reachedThroughLoopback = new Set([
  '00000000',
  '0100007F',
  '00000000000000000000000000000000',
  '0000000000000000FFFF00000100007F',
  '0000000000000000FFFF000000000000',
]);

/** Inodes of the sockets that take connections to `127.0.0.1:<port>`. */
function listenersOn(port: number): Set<string> {
  const inodes = new Set<string>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    let table: string;
    try {
      table = fs.readFileSync(file, 'latin1');
    } catch {
      continue; // A machine without IPv6 has no second table.
    }
    for (const line of table.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      const [address = '', hexPort = ''] = local.split(':');
      if (state !== listenState || parseInt(hexPort, 16) !== port) continue;
      if (inode !== undefined && reachedThroughLoopback.has(address)) inodes.add(inode);
    }
  }
  return inodes;
}

function socketsOf(pid: number): string[] {
  const dir = `/proc/${String(pid)}/fd`;
  try {
    return fs.readdirSync(dir).flatMap((fd) => {
      const target = fs.readlinkSync(`${dir}/${fd}`);
      return target.startsWith('socket:[') ? [target.slice('socket:['.length, -1)] : [];
    });
  } catch {
    return []; // It ended meanwhile or closed what was just listed; the next probe sees it.
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

/** How long a port handed out is not handed out again: its receiver needs time to listen. */
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
