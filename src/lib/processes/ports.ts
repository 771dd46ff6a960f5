/** Owns the choice of free ports. */
import net from 'node:net';

import type { Clock } from '../clock.ts';

/** How long a port is not given again: whoever got it needs time to listen, whoever had it to be forgotten. */
const reserveMs = 600_000;
const triesMax = 50;

export class FreePorts {
  readonly #clock: Clock;
  readonly #handedOut = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A port nobody listens on, not handed out or used lately, and not in `taken`. */
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

  /** It was somebody's until now, and some may still believe that it is. */
  noteFreed(port: number): void {
    this.#handedOut.set(port, this.#clock.now());
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
