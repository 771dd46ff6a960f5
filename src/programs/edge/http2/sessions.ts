/** Owns which connections of visitors speak HTTP/2. */
import type { TLSSocket } from 'node:tls';

import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { VisitorHost } from '../http1/visitor-connection.ts';
import type { Origin } from '../visit.ts';
import { HpackEncoder } from './hpack-encoder.ts';
import { Http2Session } from './session.ts';

export class Http2Sessions {
  readonly #host: VisitorHost;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Of all of them: it knows nothing of what it told whom. */
  readonly #encoder = new HpackEncoder();
  readonly #sessions = new Set<Http2Session>();

  constructor(host: VisitorHost, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#host = host;
    this.#clock = clock;
    this.#logger = logger;
  }

  serve(socket: TLSSocket, at: Origin): void {
    const calmed = (): void => this.#logger.debug({ client: at.address }, 'edge_session_ended');
    const [host, clock] = [this.#host, this.#clock];
    const origin: Origin = { ...at, version: '2' };
    const encoder = this.#encoder;
    const session = new Http2Session({ socket, origin, host, clock, encoder, calmed });
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
