/** Owns which connections of visitors speak HTTP/2. */
import type { TLSSocket } from 'node:tls';

import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Origin, VisitorHost } from '../visit.ts';
import { Holdings } from './holdings.ts';
import { HpackEncoder } from './hpack-encoder.ts';
import { Http2Session } from './session.ts';

export interface SessionsOptions {
  clock: Clock;
  logger: Logger;
  /** For tests: see `holdings.ts`. */
  heldBytesMax?: number;
}

export class Http2Sessions {
  readonly #host: VisitorHost;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Of all of them: it knows nothing of what it told whom. */
  readonly #encoder = new HpackEncoder();
  readonly #holdings: Holdings;
  readonly #sessions = new Set<Http2Session>();

  constructor(host: VisitorHost, { clock, logger, heldBytesMax }: SessionsOptions) {
    this.#holdings = new Holdings(heldBytesMax);
    this.#host = host;
    this.#clock = clock;
    this.#logger = logger;
  }

  serve(socket: TLSSocket, at: Origin): void {
    const calmed = (): void => this.#logger.debug({ client: at.address }, 'edge_session_ended');
    const [host, clock] = [this.#host, this.#clock];
    const origin: Origin = { ...at, version: '2' };
    const [encoder, holdings] = [this.#encoder, this.#holdings];
    const shared = { host, clock, encoder, holdings };
    const session = new Http2Session({ socket, origin, ...shared, calmed });
    this.#sessions.add(session);
    socket.once('close', () => this.#sessions.delete(session));
    if (host.isDraining) session.drain();
  }

  /** Each ends with its last stream. */
  drain(): void {
    for (const session of this.#sessions) session.drain();
  }

  close(): void {
    for (const { socket } of this.#sessions) socket.destroy();
  }
}
