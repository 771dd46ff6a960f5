/**
 * Owns the ports of the edge: sockets that are bound here and given to whichever process serves them.
 *
 * 1. They are never anybody else's, whatever becomes of that process. Who connects meanwhile waits in the kernel.
 * 2. Nobody listens on them here: a runner takes no bytes of strangers.
 * 3. All are bound, or none.
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

export class BoundPorts {
  readonly address: EdgeAddress;
  readonly #http: Bound;
  readonly #tls: Bound | undefined;

  /** Throws an Error with a `code`, such as EADDRINUSE, and the `port`. */
  constructor(address: EdgeAddress) {
    const { host, port, tlsPort } = address;
    this.address = address;
    this.#http = bind(host, port);
    try {
      this.#tls = tlsPort === undefined ? undefined : bind(host, tlsPort);
    } catch (error) {
      this.#http.close();
      throw error;
    }
  }

  get http(): SendHandle {
    return this.#http as unknown as SendHandle;
  }

  /** Undefined: there is no port for HTTPS. */
  get tls(): SendHandle | undefined {
    return this.#tls as unknown as SendHandle | undefined;
  }

  close(): void {
    this.#http.close();
    this.#tls?.close();
  }
}

function bind(host: string, port: number): Bound {
  const create = (net as unknown as { _createServerHandle: CreateHandle })._createServerHandle;
  const bound = create(host, port, net.isIP(host));
  if (typeof bound === 'number') throw errorOf(bound, port);
  // What bind(2) says of a port in use is kept back until it is asked where the socket is.
  const failure = bound.getsockname({});
  if (failure === 0) return bound;
  bound.close();
  throw errorOf(failure, port);
}

function errorOf(number: number, port: number): Error {
  const code = util.getSystemErrorName(number);
  return Object.assign(new Error(`Cannot bind: ${code}`), { code, port });
}
