/**
 * Owns one connection of an agent on our side: we ask, as the client of HTTP/2, and the agent answers.
 *
 * 1. All that an agent can make us keep is bounded: answers, streams under way, what is unread of them, headers.
 * 2. Everything under way ends when the connection does, with AGENT_UNREACHABLE. A question of which no sign of life
 *    follows within `signMs` ends so, too, while the connection may yet come back.
 * 3. An agent that keeps nothing but the protocol busy is cut off.
 */
import http2 from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

import { type Clock, whenLate } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import { Http2Duplex } from '../lib/http2-duplex.ts';
import { orderGuard } from '../lib/http2-order.ts';
import { Pulse } from '../lib/http2-pulse.ts';
import { FittingWindow } from '../lib/http2-window.ts';
import {
  type CallOptions,
  headBytesMax,
  type Lane,
  messageBytesMax,
} from '../protocol/agent-link.ts';
import {
  agentPaths,
  type Goodbye,
  headHeader,
  type Hello,
  isRecord,
  laneWindows,
  takenMax,
  underWayMax,
} from '../protocol/agent-wire.ts';
import { foreignError } from '../protocol/foreign-error.ts';
import { decodePlain, encodePlain } from '../protocol/plain-cbor.ts';
import { HeldBytes } from './held-bytes.ts';
import { LaneRoom } from './lane-room.ts';

export interface AgentLaneOptions {
  lane: Lane;
  socket: TLSSocket;
  clock: Clock;
  /** How long it may be silent until it is cut. Default 8 s. */
  silenceMs?: number;
  /** Of all visitors together. Default: as much as 128 of them leave that take less than comes. */
  unreadMaxBytes?: number;
}

/** Within which a question is to be followed by any sign of life. */
export const signMs = 2_000;
const [helloMs, callMs, goodbyeMs] = [10_000, 20_000, 1_000];
/** Frames of the protocol alone, such as pings, that an agent may send in `fussMs`. */
const [fussMax, fussMs] = [200, 10_000];

export class AgentLane {
  readonly lane: Lane;
  readonly #clock: Clock;
  readonly #session: http2.ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #pulse: Pulse;
  readonly #lost = new AbortController();
  readonly #guard = orderGuard(() => this.close());
  readonly #room: LaneRoom;
  readonly #unread: HeldBytes;
  #fuss = { count: 0, sinceMs: 0 };

  constructor({ lane, socket, clock, silenceMs, unreadMaxBytes }: AgentLaneOptions) {
    this.lane = lane;
    this.#room = new LaneRoom(underWayMax[lane]);
    this.#unread = new HeldBytes(unreadMaxBytes ?? 128 * laneWindows.bulk.stream);
    this.#clock = clock;
    this.#socket = socket;
    const windows = laneWindows[lane];
    this.#session = http2.connect('http://agent', {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: windows.stream },
      // Headers of our agents' answers are few and short.
      maxHeaderListPairs: 32,
      maxSettings: 32,
      maxReservedRemoteStreams: 0,
      maxSessionMemory: 64,
      peerMaxConcurrentStreams: takenMax(lane),
    });
    const window = new FittingWindow(this.#session, windows.connection);
    this.#session.once('connect', () => window.open());
    this.#session.on('error', () => this.close());
    this.#session.once('close', () => this.close());
    this.#session.once('goaway', () => this.close());
    for (const event of ['ping', 'remoteSettings', 'altsvc', 'origin']) {
      this.#session.on(event, () => this.#hearFuss());
    }
    socket.once('close', () => this.close());
    this.#pulse = new Pulse({
      session: this.#session,
      received: () => socket.bytesRead,
      clock,
      onGone: () => this.close(),
      onAnswer: (ms) => window.answered(ms),
      ...(silenceMs !== undefined && { silenceMs }),
    });
  }

  /** Aborts when the connection is gone; its reason is AGENT_UNREACHABLE. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  call(name: string, message: unknown, options?: CallOptions): Promise<unknown> {
    return this.#ask(`${agentPaths.call}${encodeURIComponent(name)}`, message, options);
  }

  hello(message: Hello): Promise<unknown> {
    return this.#ask(agentPaths.hello, message, { timeoutMs: helloMs });
  }

  /** Opens what the agent tells by. */
  told(): Promise<Duplex> {
    return this.#open(agentPaths.told, new Uint8Array());
  }

  /** Ends everything under way now, says why, and then closes. */
  dismiss(goodbye: Goodbye): void {
    if (this.#lost.signal.aborted) return;
    if (this.#isOver) {
      this.close();
      return;
    }
    this.#lost.abort(unreachable());
    const stream = this.#session.request({ ':method': 'POST', ':path': agentPaths.goodbye });
    stream.on('error', () => undefined);
    stream.once('close', () => this.#destroy());
    stream.resume();
    stream.end(encodePlain(goodbye));
    this.#clock.after(goodbyeMs, () => this.#destroy());
  }

  /** `visitorsOf`: of this app they are for. */
  async stream(name: string, head: unknown, options: StreamOptions): Promise<Duplex> {
    const bytes = encodePlain(head ?? null);
    if (bytes.length > headBytesMax) throw tooLarge('head of a stream', headBytesMax);
    return this.#open(`${agentPaths.stream}${encodeURIComponent(name)}`, bytes, options);
  }

  async #open(
    path: string,
    head: Uint8Array,
    { visitorsOf = null, signal }: Partial<StreamOptions> = {},
  ): Promise<Duplex> {
    signal?.throwIfAborted();
    const headers = { [headHeader]: Buffer.from(head).toString('base64url') };
    const stream = this.#request(path, headers, visitorsOf);
    const ending = this.#endingWith({ ...(signal && { signal }), timeoutMs: callMs });
    const stop = (): void => stream.close(http2.constants.NGHTTP2_CANCEL);
    ending.signal.addEventListener('abort', stop, { once: true });
    try {
      const status = await statusOf(stream);
      if (status !== 200) throw foreignError(errorIn(await this.#answerOf(stream)));
    } catch (error) {
      stop();
      throw ending.signal.aborted ? ending.signal.reason : known(error);
    } finally {
      ending.release();
      ending.signal.removeEventListener('abort', stop);
    }
    const broken = (): Error => (this.lost.reason as Error | undefined) ?? unreachable();
    const duplex = new Http2Duplex({ stream, broken });
    // Nobody may be listening when it breaks.
    duplex.on('error', () => undefined);
    breakWith(duplex, this.lost);
    if (signal) breakWith(duplex, signal);
    return duplex;
  }

  /** Calls back unless a sign of life comes within `signMs`; the returned function ends it. */
  unlessHeard(onSilence: () => void): () => void {
    return this.#pulse.expect(signMs, onSilence);
  }

  /** Cuts it now; twice is fine. */
  close(): void {
    if (!this.#lost.signal.aborted) this.#lost.abort(unreachable());
    this.#destroy();
  }

  #destroy(): void {
    this.#pulse.close();
    this.#session.destroy();
    this.#socket.destroy();
  }

  async #ask(path: string, message: unknown, options: CallOptions = {}): Promise<unknown> {
    const body = encodePlain(message ?? null);
    if (body.length > messageBytesMax) throw tooLarge('message', messageBytesMax);
    options.signal?.throwIfAborted();
    const stream = this.#request(path, {}, null);
    const ending = this.#endingWith(options);
    const stop = (): void => stream.close(http2.constants.NGHTTP2_CANCEL);
    ending.signal.addEventListener('abort', stop, { once: true });
    try {
      stream.end(body);
      await statusOf(stream);
      const answer = await this.#answerOf(stream);
      if (isRecord(answer) && Object.hasOwn(answer, 'ok')) return answer['ok'];
      throw foreignError(errorIn(answer));
    } catch (error) {
      stop();
      throw ending.signal.aborted ? ending.signal.reason : known(error);
    } finally {
      ending.release();
      ending.signal.removeEventListener('abort', stop);
    }
  }

  async #answerOf(stream: http2.ClientHttp2Stream): Promise<unknown> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > messageBytesMax) throw new Error('Cannot read an answer of an agent: too large');
      chunks.push(chunk);
    }
    // One that was reset ends in the same way.
    if (stream.rstCode) throw unreachable();
    return decodePlain(Buffer.concat(chunks));
  }

  /** A session may be gone a little before it says so. */
  get #isOver(): boolean {
    return this.#lost.signal.aborted || this.#session.closed || this.#session.destroyed;
  }

  #request(
    path: string,
    headers: http2.OutgoingHttpHeaders,
    visitorsOf: string | null,
  ): http2.ClientHttp2Stream {
    if (this.#isOver) throw unreachable();
    const { maxConcurrentStreams = takenMax(this.lane) } = this.#session.remoteSettings;
    const giveBack = this.#room.take(visitorsOf, maxConcurrentStreams);
    const stream = this.#session.request(
      { ...headers, ':method': 'POST', ':path': path },
      { endStream: false },
    );
    this.#guard(stream);
    if (visitorsOf !== null) this.#unread.watch(stream);
    stream.once('close', giveBack);
    // Whoever waits for the stream hears of it as well.
    stream.on('error', () => undefined);
    return stream;
  }

  /** Aborts with what ends a question before its answer. */
  #endingWith({ signal, timeoutMs = callMs }: CallOptions): Ending {
    const controller = new AbortController();
    const giveUp = (): void => controller.abort(signal?.reason);
    const lose = (): void => controller.abort(unreachable());
    signal?.addEventListener('abort', giveUp, { once: true });
    this.lost.addEventListener('abort', lose, { once: true });
    if (this.lost.aborted) lose();
    const isHeard = this.unlessHeard(lose);
    const isInTime = timeoutMs === Infinity ? undefined : whenLate(this.#clock, timeoutMs, lose);
    const release = (): void => {
      signal?.removeEventListener('abort', giveUp);
      this.lost.removeEventListener('abort', lose);
      isHeard();
      isInTime?.();
    };
    return { signal: controller.signal, release };
  }

  #hearFuss(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#fuss.sinceMs > fussMs) this.#fuss = { count: 0, sinceMs: nowMs };
    this.#fuss.count += 1;
    if (this.#fuss.count > fussMax) this.close();
  }
}

export interface StreamOptions {
  visitorsOf: string | null;
  signal: AbortSignal | undefined;
}

interface Ending {
  signal: AbortSignal;
  release: () => void;
}

export function unreachable(): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The server is not connected, or does not answer.');
}

function statusOf(stream: http2.ClientHttp2Stream): Promise<number> {
  return new Promise((resolve, reject) => {
    stream.once('response', (headers) => resolve(headers[':status'] ?? 0));
    stream.once('close', () => reject(unreachable()));
  });
}

/** An agent that breaks the protocol is one that does not answer. */
function known(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : unreachable();
}

function errorIn(answer: unknown): unknown {
  return isRecord(answer) ? answer['error'] : undefined;
}

function tooLarge(what: string, maxBytes: number): Error {
  return new Error(
    `Cannot send a ${what} to an agent: it is larger than ${String(maxBytes)} bytes`,
  );
}

function breakWith(duplex: Duplex, signal: AbortSignal): void {
  const abort = (): void => void duplex.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  duplex.once('close', () => signal.removeEventListener('abort', abort));
  if (signal.aborted) abort();
}
