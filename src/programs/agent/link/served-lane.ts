/**
 * Owns one connection to the control plane, on the agent's side: it answers, as the server of HTTP/2.
 *
 * 1. Nothing is served before the control plane has said hello, which it has to do at once.
 * 2. A handler of a call hears when nobody waits any more. All that is under way breaks with the connection.
 */
import http2 from 'node:http2';
import type { TLSSocket } from 'node:tls';

import { type Clock, whenLate } from '../../../lib/clock.ts';
import { asServiceError, ServiceError } from '../../../lib/errors.ts';
import { Http2Duplex } from '../../../lib/http2-duplex.ts';
import { orderGuard } from '../../../lib/http2-order.ts';
import { Pulse } from '../../../lib/http2-pulse.ts';
import { FittingWindow } from '../../../lib/http2-window.ts';
import type { Logger } from '../../../lib/log.ts';
import { type AgentServices, type Lane, messageBytesMax } from '../../../protocol/agent-link.ts';
import {
  agentPaths,
  type CallAnswer,
  type Goodbye,
  type GoodbyeReason,
  goodbyeReasons,
  headHeader,
  type Hello,
  type HelloAnswer,
  isRecord,
  laneWindows,
  takenMax,
} from '../../../protocol/agent-wire.ts';
import { decodePlain, encodePlain } from '../../../protocol/plain-cbor.ts';
import type { Voice } from './voice.ts';

export interface ServedLaneOptions {
  lane: Lane;
  socket: TLSSocket;
  services: AgentServices;
  answer: HelloAnswer;
  /** What is told goes this way while the connection is there. */
  voice: Voice;
  clock: Clock;
  logger: Logger;
  onHello: (hello: Hello) => void;
  onGoodbye: (goodbye: Goodbye) => void;
  silenceMs?: number;
}

const helloMs = 15_000;
/** In a second, and at once: visitors leave as they like, and Node ends a connection beyond 33 and 1,000. */
const resetsMax = 100_000;

export class ServedLane {
  /** Resolves when it is gone. */
  readonly ended: Promise<void>;
  readonly #options: ServedLaneOptions;
  readonly #session: http2.ServerHttp2Session;
  readonly #end = Promise.withResolvers<undefined>();
  readonly #pulse: Pulse;
  readonly #guard = orderGuard(() => this.close());
  #isGreeted = false;

  constructor(options: ServedLaneOptions) {
    const { socket, lane, clock, silenceMs } = options;
    this.#options = options;
    this.ended = this.#end.promise;
    const windows = laneWindows[lane];
    this.#session = http2.performServerHandshake(socket, {
      maxSessionMemory: 64,
      streamResetRate: resetsMax,
      streamResetBurst: resetsMax,
      settings: {
        initialWindowSize: windows.stream,
        maxConcurrentStreams: takenMax(lane),
        enablePush: false,
      },
    });
    const window = new FittingWindow(this.#session, windows.connection);
    window.open();
    this.#session.on('error', () => this.close());
    this.#session.once('close', () => this.close());
    socket.once('close', () => this.close());
    this.#session.on('stream', (stream, headers) => this.#take(stream, headers));
    this.#pulse = new Pulse({
      session: this.#session,
      received: () => socket.bytesRead,
      clock,
      onGone: () => this.close(),
      onAnswer: (ms) => window.answered(ms),
      ...(silenceMs !== undefined && { silenceMs }),
    });
    whenLate(clock, helloMs, () => {
      if (!this.#isGreeted) this.close();
    });
  }

  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  close(): void {
    this.#pulse.close();
    this.#session.destroy();
    this.#options.socket.destroy();
    this.#end.resolve(undefined);
  }

  #take(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): void {
    this.#guard(stream);
    stream.on('error', () => undefined); // 'close' follows.
    const path = String(headers[':path']);
    const named = (prefix: string): string => decodeURIComponent(path.slice(prefix.length));
    if (path === agentPaths.hello) this.#answer(stream, (hello) => this.#greet(hello));
    else if (path === agentPaths.goodbye) this.#answer(stream, (goodbye) => this.#part(goodbye));
    else if (!this.#isGreeted) stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    else if (path === agentPaths.told) this.#openVoice(stream);
    else if (path.startsWith(agentPaths.call)) this.#call(stream, named(agentPaths.call));
    else if (path.startsWith(agentPaths.stream)) {
      void this.#openStream(stream, named(agentPaths.stream), headers[headHeader]);
    } else this.#answer(stream, () => Promise.reject(unknown(path)));
  }

  #greet(told: unknown): Promise<HelloAnswer> {
    const { version, serverId, nowMs } = isRecord(told) ? told : {};
    if (typeof version !== 'string' || typeof serverId !== 'string' || typeof nowMs !== 'number') {
      return Promise.reject(new ServiceError('BAD_REQUEST', 'This is no hello.'));
    }
    this.#isGreeted = true;
    this.#options.onHello({ version, serverId, nowMs });
    return Promise.resolve(this.#options.answer);
  }

  #part(told: unknown): Promise<null> {
    const { reason, sentence } = isRecord(told) ? told : {};
    const known = goodbyeReasons.find((one) => one === reason) satisfies GoodbyeReason | undefined;
    const text = typeof sentence === 'string' ? sentence : 'Gangway does not say why.';
    this.#options.onGoodbye({ reason: known ?? 'draining', sentence: text });
    return Promise.resolve(null);
  }

  #openVoice(stream: http2.ServerHttp2Stream): void {
    accept(stream);
    this.#options.voice.speakBy(new Http2Duplex({ stream, broken }));
  }

  #call(stream: http2.ServerHttp2Stream, name: string): void {
    const { calls } = this.#options.services;
    const handler = Object.hasOwn(calls, name) ? calls[name] : undefined;
    this.#answer(stream, handler ?? (() => Promise.reject(unknown(name))));
  }

  #answer(
    stream: http2.ServerHttp2Stream,
    handler: (message: unknown, signal: AbortSignal) => Promise<unknown>,
  ): void {
    const gone = new AbortController();
    stream.once('close', () => gone.abort());
    messageOf(stream)
      .then((message) => handler(message, gone.signal))
      .then((ok) => encodeAnswer({ ok: ok ?? null }))
      .catch((error: unknown) => encodeAnswer({ error: this.#plainOf(error) }))
      .then((body) => {
        if (stream.destroyed || stream.closed) return;
        stream.respond({ ':status': 200 });
        stream.end(body);
      })
      .catch((err: unknown) => this.#options.logger.warn({ err }, 'agent_answer_failed'));
  }

  async #openStream(
    stream: http2.ServerHttp2Stream,
    name: string,
    head: string | string[] | undefined,
  ): Promise<void> {
    const { streams } = this.#options.services;
    const duplex = new Http2Duplex({ stream, accept: () => accept(stream), broken });
    // Of nobody's who does not listen for it.
    duplex.on('error', () => undefined);
    try {
      const open = Object.hasOwn(streams, name) ? streams[name] : undefined;
      if (open === undefined) throw unknown(name);
      await open(decodePlain(Buffer.from(String(head), 'base64url')), duplex);
      accept(stream);
    } catch (error) {
      const plain = this.#plainOf(error);
      if (stream.headersSent || stream.destroyed || stream.closed) duplex.destroy();
      else {
        stream.respond({ ':status': 409 });
        stream.end(encodeAnswer({ error: plain }));
        stream.resume();
      }
    }
  }

  #plainOf(error: unknown): ReturnType<ServiceError['toPlain']> {
    if (!(error instanceof ServiceError)) {
      this.#options.logger.error({ err: error }, 'agent_service_failed');
    }
    return asServiceError(error).toPlain();
  }
}

function accept(stream: http2.ServerHttp2Stream): void {
  if (stream.headersSent || stream.destroyed || stream.closed) return;
  stream.respond({ ':status': 200 });
}

async function messageOf(stream: http2.ServerHttp2Stream): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > messageBytesMax)
      throw new ServiceError('PAYLOAD_TOO_LARGE', 'This message is too large.');
    chunks.push(chunk);
  }
  return decodePlain(Buffer.concat(chunks));
}

function encodeAnswer(answer: CallAnswer): Uint8Array {
  const body = encodePlain(answer);
  if (body.length > messageBytesMax) {
    throw new Error(`Cannot answer a call: ${String(body.length)} bytes are too many`);
  }
  return body;
}

function broken(): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The connection to Gangway broke off.');
}

function unknown(name: string): ServiceError {
  return new ServiceError('NOT_FOUND', `This agent does not know ${name}.`);
}
