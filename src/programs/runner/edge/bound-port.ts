/**
 * Owns the port of the edge: a socket that is bound here and given to whichever process serves it.
 *
 * 1. It is never anybody else's, whatever becomes of that process. Who connects meanwhile waits in the kernel.
 * 2. Nobody listens on it here: a runner takes no bytes of strangers.
 */
import net from 'node:net';
import type { SendHandle } from 'node:child_process';
import util from 'node:util';

import type { EdgeAddress } from '../../../protocol/runner-messages.ts';

/** A bound socket of Node's own kind, such as its module for clusters gives to other processes. */
interface Bound {
  getsockname(out: object): number;
  close(): void;
}

/** Not in its documentation, but the way in which node:cluster makes what workers listen on. */
type CreateHandle = (host: string, port: number, addressType: number) => Bound | number;

export class BoundPort {
  readonly address: EdgeAddress;
  readonly #bound: Bound;

  private constructor(address: EdgeAddress, bound: Bound) {
    this.address = address;
    this.#bound = bound;
  }

  /** Throws an Error with a `code`, such as EADDRINUSE. */
  static bind(address: EdgeAddress): BoundPort {
    const { host, port } = address;
    const create = (net as unknown as { _createServerHandle: CreateHandle })._createServerHandle;
    const bound = create(host, port, net.isIP(host));
    if (typeof bound === 'number') throw errorOf(bound);
    // What bind(2) says of a port in use is kept back until it is asked where the socket is.
    const failure = bound.getsockname({});
    if (failure === 0) return new BoundPort(address, bound);
    bound.close();
    throw errorOf(failure);
  }

  get handle(): SendHandle {
    return this.#bound as unknown as SendHandle;
  }

  close(): void {
    this.#bound.close();
  }
}

function errorOf(number: number): Error {
  const code = util.getSystemErrorName(number);
  return Object.assign(new Error(`Cannot bind: ${code}`), { code });
}
