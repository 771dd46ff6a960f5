/**
 * Owns one request and its answer on the library's response object; nothing else touches that.
 *
 * 1. After an abort, and after the end, the response object is never used again.
 * 2. A handler that throws or rejects is answered with a problem, or, when the answer has begun, by
 *    cutting the connection, so that nobody takes half an answer for a whole one.
 * 3. An answer that comes before the end of the body reaches the client: what is left of a short body
 *    is dropped and the connection kept; of a long one a bounded amount is read on, then it is closed.
 *    (Closing with bytes unread would reset the connection under the answer.)
 * 4. A handler that takes too long is answered for; from then on nobody waits for it, as if the client
 *    had left. Whatever it answers then, or a second time, is dropped, logged and counted.
 * 5. The library's own timer of about 10 s on stalled sockets is renewed by `tick`; our limits rule.
 */
import { ServiceError } from '../../lib/errors.ts';
import { AnswerWriter } from './answer-writer.ts';
import { BaseExchange } from './base-exchange.ts';
import { clientAddress, type ClientAddress } from './client-address.ts';
import type { BodyFlow, BodySink, Headers, Method, ResponseStream, Route } from '../transport.ts';
import type { ExchangeHost, ExchangeRequest } from './exchange-host.ts';
import type { RouteCounts } from '../metrics.ts';
import { GuardedSink } from './guarded-sink.ts';
import { OpenStream } from './open-stream.ts';
import { renewTimer } from './request-body.ts';
import type { HttpResponse } from '../uws.ts';

type State = 'waiting' | 'sending' | 'streaming' | 'lingering' | 'over';

/** Bodies up to here are handed to the library whole; it keeps a copy of what the socket refuses. */
const wholeBytes = 128 * 1024;

/** How long a client that goes on sending is read on behind its answer while the gateway drains. */
const drainLingerMs = 2000;

const nothingFlows: BodyFlow = Object.freeze({ resume: () => undefined });

export class HttpExchange extends BaseExchange {
  readonly #response: HttpResponse;
  readonly #host: ExchangeHost<HttpExchange>;
  readonly #request: ExchangeRequest;
  readonly #writer: AnswerWriter;
  /** On the clock of `performance`. */
  readonly startedMs = performance.now();
  #state: State = 'waiting';
  #requestId = '';
  #late = false;
  #client: ClientAddress | undefined;
  #stream: OpenStream | undefined;
  #status = 0;
  #sinceMs = 0;
  #lingerStart = 0;
  /** Bytes of the body at the last call of `letGo`. */
  #lingerSeen = -1;

  constructor(response: HttpResponse, host: ExchangeHost<HttpExchange>, request: ExchangeRequest) {
    super(request, host);
    this.#response = response;
    this.#host = host;
    this.#request = request;
    this.#writer = new AnswerWriter(response, host, request, this);
    this.#sinceMs = host.now();
  }

  get requestId(): string {
    this.#requestId ||= this.#host.newRequestId();
    return this.#requestId;
  }

  get method(): Method {
    return this.#request.route?.method ?? 'GET';
  }

  get route(): string {
    return this.#request.route?.path ?? '';
  }

  /** As the client wrote it. */
  get requestMethod(): string {
    return this.#request.method;
  }

  get counts(): RouteCounts {
    return this.#request.counts;
  }

  get definition(): Route | undefined {
    return this.#request.route;
  }

  get address(): string {
    const { peer } = this.#request;
    return this.#host.trusted(peer) ? this.#known().address : peer;
  }

  get fromLoopback(): boolean {
    return this.#known().fromLoopback;
  }

  get secure(): boolean {
    return this.#known().secure;
  }

  get over(): boolean {
    return this.#state === 'over';
  }

  /** Whether the answer had no known end. */
  get streamed(): boolean {
    return this.#stream !== undefined;
  }

  /** Calls the route's handler; afterwards the library no longer corks for us. */
  override run(route: Pick<Route, 'handle' | 'refuse'>): void {
    try {
      super.run(route);
    } finally {
      this.#writer.corked = false;
    }
  }

  streamBody(maxBytes: number, sink: BodySink): BodyFlow {
    const guarded = new GuardedSink(sink, this);
    const body = this.#request.body;
    if (body !== undefined && !this.aborted) return body.read(maxBytes, guarded);
    queueMicrotask(() => {
      if (this.aborted) guarded.fail('aborted');
      else guarded.end();
    });
    return nothingFlows;
  }

  addHeader(name: string, value: string): void {
    this.#writer.addHeader(name, value);
  }

  send(status: number, headers: Headers, body: Uint8Array | string): void {
    if (!this.#mayAnswer(status)) return;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (this.#request.body?.hasLongRest(this.#writer.closes) === true)
      this.#sendAhead(status, headers, bytes);
    else {
      this.#request.body?.drop();
      if (bytes.byteLength > wholeBytes && this.#request.method !== 'HEAD') {
        this.#sendLarge(status, headers, bytes);
      } else {
        this.#state = 'over';
        this.#over(this.#writer.whole(status, headers, bytes));
      }
    }
  }

  override sendLent(status: number, headers: Headers, body: Uint8Array): void {
    if (body.byteLength > wholeBytes) super.sendLent(status, headers, body);
    else this.send(status, headers, body);
  }

  stream(status: number, headers: Headers): ResponseStream {
    const stream = new OpenStream(this.#response, this.#host.writes, this);
    if (!this.#mayAnswer(status)) {
      stream.close();
      // Whoever writes to it is told that nobody reads.
      this.markLeft();
      return stream;
    }
    this.#state = 'streaming';
    this.#stream = stream;
    this.#writer.begin(status, headers, () => {
      stream.begin();
    });
    return stream;
  }

  streamEnded(bytes: number): void {
    // What is left of the body is dropped by the library; the client has its answer.
    this.#request.body?.drop();
    this.#state = 'over';
    this.#over(bytes);
  }

  /** The library says the client has left. */
  clientLeft(): void {
    if (this.#state === 'over') return;
    const before = this.#state;
    this.#state = 'over';
    if (before === 'lingering') {
      this.#host.released(this);
      return;
    }
    this.markLeft();
    this.#stream?.close();
    this.#request.body?.fail('aborted');
    this.tellLeft();
    this.#answered(this.#stream?.bytes ?? 0, true);
    this.#host.released(this);
  }

  /** The library read a part of the body. */
  received(chunk: ArrayBuffer, last: boolean): void {
    const body = this.#request.body;
    if (body === undefined) return;
    this.#writer.corked = true;
    body.receive(chunk, last);
    this.#writer.corked = false;
    if (this.#state !== 'lingering') return;
    const tooMuch = body.receivedBytes - this.#lingerStart > this.#host.limits.lingerBytes;
    // Not at once: the answer may still be in the library's cork.
    if (last || tooMuch) setImmediate(() => this.abort());
  }

  /** Fails the body for a reason of the gateway's own, such as a drain. */
  refuseBody(error: ServiceError): void {
    this.#request.body?.refuse(error);
  }

  /**
   * While draining, called every so often: lets go of a client that has its answer, once it has sent
   * nothing since the last call, or has had time enough.
   */
  letGo(nowMs: number): void {
    if (this.#state !== 'lingering') return;
    const received = this.#request.body?.receivedBytes ?? 0;
    const isQuiet = received === this.#lingerSeen;
    this.#lingerSeen = received;
    if (isQuiet || nowMs - this.#sinceMs > drainLingerMs) this.abort();
  }

  /** Cuts the connection. */
  abort(): void {
    if (this.#state !== 'over') this.#response.close();
  }

  /** Judges every bound on time; called every few seconds. */
  tick(nowMs: number): void {
    const { answerMs, sendStallMs, streamStallMs, lingerMs } = this.#host.limits;
    switch (this.#state) {
      case 'waiting':
        this.#request.body?.tick();
        if (this.#request.body?.flowing === true) this.#sinceMs = nowMs;
        else if (nowMs - this.#sinceMs > answerMs) this.#tooLate();
        return;
      case 'sending':
        if (nowMs - this.#sinceMs > sendStallMs) this.#response.close();
        else renewTimer(this.#response);
        return;
      case 'streaming': {
        this.#request.body?.tick();
        const stalledSinceMs = this.#stream?.stalledSinceMs ?? null;
        if (stalledSinceMs === null) return;
        if (nowMs - stalledSinceMs > streamStallMs) this.#response.close();
        else renewTimer(this.#response);
        return;
      }
      case 'lingering':
        if (nowMs - this.#sinceMs > lingerMs) this.#response.close();
        return;
      case 'over':
        return;
    }
  }

  #known(): ClientAddress {
    const { peer, head } = this.#request;
    this.#client ??= clientAddress(peer, head, this.#host.trusted);
    return this.#client;
  }

  #mayAnswer(status: number): boolean {
    if (this.#state === 'waiting') {
      this.#status = status;
      return true;
    }
    if (this.#late) this.drop(status, 'late');
    else if (!this.aborted) this.drop(status, 'again');
    return false;
  }

  #sendLarge(status: number, headers: Headers, bytes: Uint8Array): void {
    this.#state = 'sending';
    this.#sinceMs = this.#host.now();
    this.#writer.large(status, headers, bytes, {
      writable: () => {
        this.#sinceMs = this.#host.now();
        return this.#state === 'sending';
      },
      sent: () => {
        this.#state = 'over';
        this.#over(bytes.byteLength);
      },
    });
  }

  #sendAhead(status: number, headers: Headers, bytes: Uint8Array): void {
    this.#state = 'lingering';
    this.#sinceMs = this.#host.now();
    this.#lingerStart = this.#request.body?.receivedBytes ?? 0;
    this.#writer.ahead(status, headers, bytes);
    this.#request.body?.drop();
    this.#answered(bytes.byteLength, false);
  }

  #over(bytes: number): void {
    this.#answered(bytes, false);
    this.#host.released(this);
  }

  #answered(bytes: number, aborted: boolean): void {
    this.#host.answered(this, { status: this.#status, bytes, aborted });
  }

  protected override answerFailure(error: ServiceError): void {
    if (this.#state === 'waiting') this.refuse(error);
    else if (this.#state === 'streaming') this.#response.close();
    else if (this.#late) this.drop(error.status, 'late');
  }

  #tooLate(): void {
    const fields = { route: this.route, requestId: this.requestId };
    this.#host.logger.warn(fields, 'request_unanswered');
    const detail = 'The answer took too long; what was asked for may still happen.';
    this.refuse(new ServiceError('DEADLINE_EXCEEDED', detail));
    this.#late = true;
    this.markLeft();
    this.tellLeft();
  }
}
