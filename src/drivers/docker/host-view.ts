/**
 * Owns the look at containers from the machine's own side, where Gangway shares it with the daemon:
 * the sockets of a container's network and the processes in it.
 */
import fs from 'node:fs';
import net from 'node:net';

const listenState = '0A';
const connectTimeoutMs = 1000;
/** Little-endian, as the kernel writes it. */
const loopback = /^(0100007F|[0-9A-F]{6}7F|0{24}01000000)$/;

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
  return ['tcp', 'tcp6'].some((name) => {
    let table: string;
    try {
      table = fs.readFileSync(`/proc/${pid}/net/${name}`, 'latin1');
    } catch {
      return false; // It ended meanwhile, or has no IPv6.
    }
    return table.split('\n').some((line) => {
      const [, local = '', , state] = line.trim().split(/\s+/);
      const [address = '', hexPort = ''] = local.split(':');
      return state === listenState && parseInt(hexPort, 16) === port && !loopback.test(address);
    });
  });
}

/** For where /proc does not show it. */
export function answersAt(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const done = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(connectTimeoutMs, () => {
      done(false);
    });
    socket.once('connect', () => {
      done(true);
    });
    socket.once('error', () => {
      done(false);
    });
  });
}
