/**
 * Owns where the gateway listens: its port, and a Unix socket for the edge where the edge leads here, too.
 *
 * 1. Who comes by that socket is the edge: only the edge may enter its folder (`protocol/panel-sockets.ts`). It is
 *    believed what it says of visitors, and nobody at the port can pass for it.
 */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { socketAddress } from '../protocol/runner-socket.ts';
import { ListenError } from './free-port.ts';
import { edgePeer } from './http/client-address.ts';
import { type ListenSocket, listenAt, listenOn, type TemplatedApp, type Uws } from './uws.ts';

/** A Unix socket, by its folder and its name there. */
export interface SocketPlace {
  dir: string;
  name: string;
}

export interface ListenersOptions {
  host: string;
  /** 0: a free port. */
  port: number;
  /** Whether other threads listen on the port, too. */
  isShared: boolean;
  /** Where the edge comes; null: nowhere. */
  edge: SocketPlace | null;
  /** Prepares an app of the library. `peer`: who is at the other end of all its connections; null: anybody. */
  prepare: (app: TemplatedApp, peer: string | null) => void;
}

export class Listeners {
  readonly #options: ListenersOptions;
  readonly #apps: TemplatedApp[] = [];
  readonly #sockets: ListenSocket[] = [];
  #uws: Uws | undefined;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  /** Resolves with the port. Rejects with a ListenError. */
  async listen(uws: Uws): Promise<number> {
    const { host, port, isShared, edge } = this.#options;
    this.#uws = uws;
    const listening = await listenOn(this.#newApp(uws, null), host, port, isShared);
    if (listening === false) throw new ListenError(host, port);
    this.#sockets.push(listening);
    if (edge !== null) await this.#listenForEdge(uws, edge);
    return uws.us_socket_local_port(listening);
  }

  /** Takes no connections any more. */
  refuse(): void {
    for (const socket of this.#sockets.splice(0)) this.#uws?.us_listen_socket_close(socket);
  }

  /** Closes all connections, too. */
  close(): void {
    this.refuse();
    for (const app of this.#apps.splice(0)) app.close();
  }

  #newApp(uws: Uws, peer: string | null): TemplatedApp {
    const app = uws.App();
    this.#options.prepare(app, peer);
    this.#apps.push(app);
    return app;
  }

  async #listenForEdge(uws: Uws, { dir, name }: SocketPlace): Promise<void> {
    const file = join(dir, name);
    // That of an earlier process, which listens no more: one at a time has the data directory.
    rmSync(file, { force: true });
    const address = socketAddress(dir, name);
    try {
      const listening = await listenAt(this.#newApp(uws, edgePeer), address.path);
      if (listening === false) throw new Error(`Cannot listen on the socket ${file}`);
      this.#sockets.push(listening);
      // Its folder says who may come.
      chmodSync(file, 0o666);
    } finally {
      address.release();
    }
  }
}
