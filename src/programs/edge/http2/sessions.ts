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
    const count = this.#calm(session);
    let underWay = 0;
    session.setTimeout(keepMs);
    session.on('timeout', () => {
      if (underWay === 0) session.close();
      else session.destroy();
    });
    session.on('stream', (stream, headers, flags) => {
      if (underWay++ === 0) session.setTimeout(silenceMs);
      // Each listener of a stream costs Node some microseconds: there are as few as can be.
      stream.on('error', ignore); // 'close' follows.
      stream.on('aborted', count);
      const over = this.#begin(stream, socket, origin, headers, flags);
      stream.on('close', () => {
        if (--underWay === 0) session.setTimeout(keepMs);
        over();
      });
    });
  }

  /** No stream is taken any more. */
  drain(): void {
    for (const session of this.#sessions) session.close();
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
  }

  /** The returned function says that the stream is closed. */
  #begin(
    stream: ServerHttp2Stream,
    socket: TLSSocket,
    origin: Origin,
    headers: IncomingHttpHeaders,
    flags: number,
  ): () => void {
    const head = readHead(headers, (flags & endStreamFlag) !== 0);
    if (head === undefined) {
      stream.close(protocolError);
      return ignore;
    }
    const ended = this.#host.begun(socket);
    const expectsContinue = headers.expect?.toLowerCase() === '100-continue' && head.body !== 0;
    const visit = new Http2Visit(stream, origin, head, expectsContinue);
    this.#host.visit(visit);
    return () => {
      ended();
      visit.closed();
    };
  }

  #end(session: ServerHttp2Session): void {
    this.#logger.debug({ client: session.socket.remoteAddress }, 'edge_session_ended');
    session.destroy(new Error('Cannot go on: it asks too much of others'), enhanceYourCalm);
  }

  /** The returned function counts one more thing that costs nothing. */
  #calm(session: ServerHttp2Session): () => void {
    let [room, atMs] = [calmMax, this.#clock.now()];
    const count = (): void => {
      const nowMs = this.#clock.now();
      room = Math.min(calmMax, room + (Math.max(nowMs - atMs, 0) * calmPerS) / 1000) - 1;
      atMs = nowMs;
      if (room < 0 && !session.destroyed) this.#end(session);
    };
    session.on('ping', count);
    session.on('remoteSettings', count);
    return count;
  }
}

function ignore(): void {
  // There is nothing to be done.
}
