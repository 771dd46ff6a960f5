/**
 * Owns looking at containers through /proc, where Gangway runs on the daemon's machine: the sockets of
 * a container's network, and its processes.
 */
import fs from 'node:fs';

import { accepts } from '../../../lib/connect.ts';
import { type Listener, listeningSockets } from '../../../lib/processes/listening-sockets.ts';

const connectTimeoutMs = 1000;
const loopback = /^(127\.|::1$)/;
/** The address of Docker's own name server in containers. */
const dockerNames = '127.0.0.11';

/**
 * Whether a process number of the daemon is that process here. It is not where the daemon runs on
 * another machine, or Gangway in a container.
 */
export function isHere(pid: number, container: string): boolean {
  if (pid <= 0) return false;
  try {
    return fs.readFileSync(`/proc/${pid}/cgroup`, 'latin1').includes(container);
  } catch {
    return false; // Gone, or nothing we may look at.
  }
}

/** Whether anything in the process's network listens on the port, on more than loopback. */
export async function listensIn(pid: number, port: number): Promise<boolean> {
  const listeners = await listenersIn(pid);
  return listeners.some((socket) => socket.port === port && !loopback.test(socket.address));
}

export async function listenersIn(pid: number): Promise<Listener[]> {
  return (await listeningSockets(`/proc/${pid}/net`))
    .filter(({ address }) => address !== dockerNames)
    .map(({ address, port }) => ({ address, port }));
}

/** Whether a connection is taken, for where /proc does not show listeners. */
export function answersAt(host: string, port: number): Promise<boolean> {
  return accepts({ host, port }, connectTimeoutMs);
}
