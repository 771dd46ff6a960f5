/**
 * Owns connections of visitors who speak HTTP/2.
 *
 * 1. What a session may make the edge hold is bounded: streams, the size of heads, what waits to be sent.
 * 2. What costs its sender nothing is counted: a session that takes streams back, pings, or changes settings more often
 *    than any browser does is closed with ENHANCE_YOUR_CALM. So is what nghttp2 counts itself, such as CONTINUATION.
 * 3. Once the edge drains, each session is told so, and ends with its last stream.
 */
import type {
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
  ServerOptions,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';

import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { VisitorHost } from '../http1/visitor-connection.ts';
import type { Origin } from '../visit.ts';
import { Http2Visit, readHead } from './visit.ts';

/** Of the flags of a frame (RFC 9113, 6.2). */
const endStreamFlag = 1;
const [protocolError, enhanceYourCalm] = [1, 11];
/** As of connections of HTTP/1.1. */
const [keepMs, silenceMs] = [75_000, 600_000];
const headBytesMax = 32 * 1024;
const streamsMax = 128;
/** Of what costs nothing: so many at once, and so many more each second. */
const [calmMax, calmPerS] = [200, 20];

const options: ServerOptions & { maxHeaderListPairs: number } = {
  settings: {
    enablePush: false,
    maxConcurrentStreams: streamsMax,
    maxHeaderListSize: headBytesMax,
    initialWindowSize: 256 * 1024,
  },
  // In megabytes.
  maxSessionMemory: 4,
  maxHeaderListPairs: 200,
  maxOutstandingPings: 4,
  maxSessionInvalidFrames: 16,
  maxSessionRejectedStreams: 64,
};

export class Http2Sessions {
  readonly #host: VisitorHost;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(host: VisitorHost, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#host = host;
    this.#clock = clock;
    this.#logger = logger;
  }

  serve(socket: TLSSocket, origin: Origin): void {
    const { performServerHandshake } = process.getBuiltinModule('node:http2');
    const session = performServerHandshake(socket, options);
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', () => undefined); // 'close' follows.
    this.#calm(session);
    let underWay = 0;
    session.setTimeout(keepMs);
    session.on('timeout', () => {
      if (underWay === 0) session.close();
      else session.destroy();
    });
    session.on('stream', (stream, headers, flags) => {
      if (underWay++ === 0) session.setTimeout(silenceMs);
      stream.once('close', () => {
        if (--underWay === 0) session.setTimeout(keepMs);
      });
      this.#begin(stream, socket, origin, headers, flags);
    });
  }

  /** No stream is taken any more. */
  drain(): void {
    for (const session of this.#sessions) session.close();
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
  }

  #begin(
    stream: ServerHttp2Stream,
    socket: TLSSocket,
    origin: Origin,
    headers: IncomingHttpHeaders,
    flags: number,
  ): void {
    stream.on('error', () => undefined); // 'close' follows.
    const head = readHead(headers, (flags & endStreamFlag) !== 0);
    if (head === undefined) {
      stream.close(protocolError);
      return;
    }
    stream.once('close', this.#host.begun(socket));
    const expectsContinue = headers.expect?.toLowerCase() === '100-continue' && head.body !== 0;
    this.#host.visit(new Http2Visit(stream, origin, head, expectsContinue));
  }

  #end(session: ServerHttp2Session): void {
    this.#logger.debug({ client: session.socket.remoteAddress }, 'edge_session_ended');
    session.destroy(new Error('Cannot go on: it asks too much of others'), enhanceYourCalm);
  }

  #calm(session: ServerHttp2Session): void {
    let [room, atMs] = [calmMax, this.#clock.now()];
    const count = (): void => {
      const nowMs = this.#clock.now();
      room = Math.min(calmMax, room + (Math.max(nowMs - atMs, 0) * calmPerS) / 1000) - 1;
      atMs = nowMs;
      if (room < 0 && !session.destroyed) this.#end(session);
    };
    session.on('ping', count);
    session.on('remoteSettings', count);
    session.on('stream', (stream: ServerHttp2Stream) => {
      stream.once('aborted', count);
    });
  }
}
