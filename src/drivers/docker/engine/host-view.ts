/**
 * Owns the look at containers from the machine's own side, where Gangway shares it with the daemon:
 * the sockets of a container's network and the processes in it.
 */
import fs from 'node:fs';
import net from 'node:net';

import { listeningSockets } from '../../../lib/processes/listening-sockets.ts';
import type { Listener } from '../../../lib/processes/listening-sockets.ts';

const connectTimeoutMs = 1000;
const loopback = /^(127\.|::1$)/;
/** Where Docker answers what containers ask of names. */
const dockerNames = '127.0.0.11';

/**
 * Whether a number of the daemon's is that process here: it may run on another machine, or Gangway
 * in a container of its own.
 */
export function isHere(pid: number, container: string): boolean {
  if (pid <= 0) return false;
  try {
    return fs.readFileSync(`/proc/${pid}/cgroup`, 'latin1').includes(container);
  } catch {
    return false; // Gone, or nothing we may look at.
  }
}

/** Whether anything in the process's network listens on the port, other than on loopback alone. */
export function listensIn(pid: number, port: number): boolean {
  return listenersIn(pid).some((one) => one.port === port && !loopback.test(one.address));
}

/** Where anything in the process's network listens. */
export function listenersIn(pid: number): Listener[] {
  return listeningSockets(`/proc/${pid}/net`)
    .filter(({ address }) => address !== dockerNames)
    .map(({ address, port }) => ({ address, port }));
}

/** For where /proc does not show it. */
export function answersAt(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const done = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(connectTimeoutMs, () => done(false));
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}
