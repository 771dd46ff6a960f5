/** Owns looks at which sockets listen on this machine. One look serves all who wait for the next. */
import { setImmediate } from 'node:timers/promises';

import { type ListeningSocket, listeningSockets } from './listening-sockets.ts';

export class ListenerTable {
  readonly #dir: string;
  #next: Promise<readonly ListeningSocket[]> | undefined;
  /** What the next look is asked for. */
  #wanted = new Set<number>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(dir = '/proc/net') {
    this.#dir = dir;
  }

  /**
   * The sockets that take connections to an address of the machine's own, `127.0.0.1` or `::1`, as a look
   * sees them that begins behind this call.
   */
  async at(host: string, port: number): Promise<ListeningSocket[]> {
    this.#wanted.add(port);
    this.#next ??= this.#afterTheLast();
    const sockets = await this.#next;
    const addresses = host.includes(':') ? [host, '::'] : [host, '0.0.0.0', '::'];
    return sockets.filter((socket) => socket.port === port && addresses.includes(socket.address));
  }

  async #afterTheLast(): Promise<readonly ListeningSocket[]> {
    await this.#last;
    // Who asks in this turn of the loop waits for the same look.
    await setImmediate();
    this.#next = undefined;
    const wanted = this.#wanted;
    this.#wanted = new Set();
    const look = listeningSockets(this.#dir, wanted);
    this.#last = look.catch(() => undefined); // Its askers are told.
    return look;
  }
}
