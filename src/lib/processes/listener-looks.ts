/**
 * Owns looks at which ports of this machine a workload listens.
 *
 * 1. One look at a time, and of it so much in one turn of the loop: what a workload holds open is its own
 *    choice, and others share the loop.
 * 2. A look has a bound. Beyond, the answer is what is certain by then: a listener under the workload's own
 *    uid is its own, any other is not.
 */
import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';

import { type Listener, type ListeningSocket, listeningSockets } from './listening-sockets.ts';
import { memberPids, type Membership } from './processes.ts';

/** Whose listeners are looked for. */
interface Looked {
  membership: Membership;
  /** A user id that no other workload's owner has; null: there is none. */
  uid: number | null;
}

/** Descriptors and processes in one turn: a millisecond or two. */
const turnMax = 256;
/** The same in one look. A server's listeners are among the first of its own. */
const lookMax = 16_384;

// All addresses, and loopback. An IPv6 socket for all addresses takes IPv4 as well.
const reachedThroughLoopback: ReadonlySet<string> = new Set(['0.0.0.0', '127.0.0.1', '::']);

export class ListenerLooks {
  #last: Promise<unknown> = Promise.resolve();

  /** Whether every listener on the port belongs to the workload. */
  probe(port: number, looked: Looked): Promise<'listening' | 'silent' | 'foreign'> {
    return this.#inTurn(() => probePort(port, looked));
  }

  /** Those of the sockets that are the workload's. */
  own(sockets: readonly ListeningSocket[], looked: Looked): Promise<ListeningSocket[]> {
    return this.#inTurn(() => ownOf(sockets, looked));
  }

  /** Where the workload listens. */
  listenersOf(looked: Looked): Promise<Listener[]> {
    return this.#inTurn(() => listenersOf(looked));
  }

  #inTurn<T>(look: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(look);
    this.#last = turn.catch(() => undefined); // Its asker is told.
    return turn;
  }
}

async function probePort(
  port: number,
  looked: Looked,
): Promise<'listening' | 'silent' | 'foreign'> {
  // Those that take connections to `127.0.0.1:<port>`.
  const listeners = (await listeningSockets('/proc/net', new Set([port]))).filter(({ address }) =>
    reachedThroughLoopback.has(address),
  );
  if (listeners.length === 0) return 'silent';
  const own = await ownOf(listeners, looked);
  return own.length === listeners.length ? 'listening' : 'foreign';
}

async function listenersOf(looked: Looked): Promise<Listener[]> {
  const own = await ownOf(await listeningSockets('/proc/net'), looked);
  return own.map(({ address, port }) => ({ address, port }));
}

/** Those of the sockets that are the workload's. */
async function ownOf(
  sockets: readonly ListeningSocket[],
  { membership, uid }: Looked,
): Promise<ListeningSocket[]> {
  const possible = sockets.filter((socket) => uid === null || socket.uid === uid);
  const left = new Set(possible.map(({ inode }) => inode));
  if (left.size === 0) return [];
  const isWhole = await look(membership, (inode) => {
    left.delete(inode);
    return left.size > 0;
  });
  const isCertain = !isWhole && uid !== null;
  return possible.filter(({ inode }) => isCertain || !left.has(inode));
}

/** Tells the inodes of a workload's sockets, until `next` wants no more; false: there were too many. */
async function look(membership: Membership, next: (inode: string) => boolean): Promise<boolean> {
  let seen = 0;
  for (const pid of pidsOf(membership)) {
    for (const inode of descriptorsOf(pid)) {
      if (inode !== undefined && !next(inode)) return true;
      if (++seen >= lookMax) return false;
      if (seen % turnMax === 0) await setImmediate();
    }
  }
  return true;
}

/** Whoever is in its control group is all there is. */
function pidsOf(membership: Membership): readonly number[] {
  const grouped = membership.group?.pids() ?? [];
  return grouped.length > 0 ? grouped : memberPids(membership);
}

/** Undefined for the process, then of each descriptor its socket's inode, or undefined for no socket. */
function* descriptorsOf(pid: number): Generator<string | undefined> {
  yield undefined;
  const path = `/proc/${String(pid)}/fd`;
  let dir: fs.Dir;
  try {
    dir = fs.opendirSync(path);
  } catch {
    return; // The process ended.
  }
  try {
    for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) {
      yield inodeOf(`${path}/${entry.name}`);
    }
  } catch {
    return; // It ended meanwhile.
  } finally {
    dir.closeSync();
  }
}

function inodeOf(link: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(link))?.[1];
  } catch {
    return undefined; // Closed since it was listed. The next look sees that.
  }
}
