/**
 * Owns looks at who is at the other end of connections between programs of this machine: the uid that made
 * that socket. One look serves all who wait for it.
 *
 * 1. A look begins behind the call, and while our end is open no other socket can be at the other. So what it
 *    sees is who sends.
 * 2. So much is read in one turn of the loop, and so much at all, some 220,000 sockets. Whoever stands behind is
 *    not seen, nor is a socket that its program has closed.
 */
import type net from 'node:net';
import { setImmediate } from 'node:timers/promises';

import { tablePages } from './socket-tables.ts';

type Ends = Pick<net.Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

interface Asked {
  /** As the kernel's table writes both ends, seen from there. */
  ends: string;
  resolve: (uid: number | undefined) => void;
}

/** Both ends of what is established, or half closed by the other end; then uid and inode. */
const connected =
  /: ([0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:[0-9A-F]{4}) 0[145] \S+ \S+ \S+ +(\d+) +\d+ (\d+) /g;
const mapped = '0000000000000000FFFF0000';

export class PeerUids {
  readonly #dir: string;
  #waiting: Asked[] = [];
  #isLooking = false;

  constructor(dir = '/proc/net') {
    this.#dir = dir;
  }

  /** Undefined: it is nobody's, as when it was closed meanwhile. `socket`: our end. */
  of(socket: Ends): Promise<number | undefined> {
    const ends = endsOf(socket);
    if (ends === undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push({ ends, resolve });
      if (!this.#isLooking) void this.#look();
    });
  }

  /** Never rejects: what is not read is nobody's. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#waiting.length > 0) {
      // Who asks in this turn of the loop waits for the same look.
      await setImmediate();
      const asked = this.#waiting;
      this.#waiting = [];
      const found = await uidsOf(new Set(asked.map(({ ends }) => ends)), this.#dir);
      for (const { ends, resolve } of asked) resolve(found.get(ends));
    }
    this.#isLooking = false;
  }
}

async function uidsOf(wanted: ReadonlySet<string>, dir: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const name of ['tcp', 'tcp6']) {
    for await (const text of tablePages(`${dir}/${name}`)) {
      for (const [, written = '', uid, inode] of text.matchAll(connected)) {
        const ends = written.replaceAll(mapped, '');
        if (wanted.has(ends) && inode !== '0') found.set(ends, Number(uid));
      }
      if (found.size === wanted.size) return found;
    }
  }
  return found;
}

/** Undefined for a socket that is closed, or has no address of IPv4. */
function endsOf(socket: Ends): string | undefined {
  const there = written(socket.remoteAddress, socket.remotePort);
  const here = written(socket.localAddress, socket.localPort);
  return there === undefined || here === undefined ? undefined : `${there} ${here}`;
}

function written(address = '', port = 0): string | undefined {
  const bytes = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/i.exec(address)?.slice(1);
  if (bytes === undefined) return undefined;
  const hex = (number: number, digits: number): string =>
    number.toString(16).toUpperCase().padStart(digits, '0');
  // The kernel writes words of 32 bits in the order of the machine, which is little-endian here.
  const word = bytes.reverse().map((byte) => hex(Number(byte), 2));
  return `${word.join('')}:${hex(port, 4)}`;
}
