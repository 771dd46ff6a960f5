/**
 * Owns one request, its answer, and the library's response object, which nothing else touches.
 *
 * 1. After an abort, and after the end, the response object is never used again.
 * 2. When a handler throws or rejects, a problem is the answer. When an answer has begun, the connection is
 *    cut, so that nobody takes half an answer for a whole one.
 * 3. An answer that comes before the end of the body reaches the client. The rest of a short body is
 *    dropped, and the connection kept. Of a long body a bounded amount is read, then the connection is
 *    closed: closing it with bytes unread would reset it, and the client could lose the answer.
 * 4. The gateway answers for a handler that takes too long. From then on it is as if the client had left:
 *    a late answer is dropped, logged and counted. So is a second one.
 * 5. `tick` renews the library's own timer of about 10 s on stalled sockets, so that our limits hold.
 */
import { ServiceError } from '../../lib/errors.ts';
import { AnswerWriter } from './answer-writer.ts';
import { BaseExchange } from './base-exchange.ts';
import { clientAddress, type ClientAddress, edgePeer } from './client-address.ts';
import type { BodyFlow, BodySink, Headers, Method, ResponseStream, Route } from '../transport.ts';
import type { ExchangeHost, ExchangeRequest } from './exchange-host.ts';
import type { RouteCounts } from '../metrics.ts';
import { GuardedSink } from './body-sinks.ts';
import { OpenStream } from './open-stream.ts';
import { SizedStream } from './sized-stream.ts';
import { renewTimer } from './request-body.ts';
import type { HttpResponse } from '../uws.ts';

type State = 'waiting' | 'sending' | 'streaming' | 'lingering' | 'over';

/** Bodies of up to this size are given to the library whole; it copies what the socket refuses. */
const wholeBytes = 128 * 1024;

/** While the gateway drains, a client that goes on sending after its answer is read for this long. */
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
  #stream: OpenStream | SizedStream | undefined;
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
    // Visitors are told the id by which the edge knows the request.
    this.#requestId ||= this.peer === edgePeer ? this.header('x-request-id') : '';
    this.#requestId ||= this.#host.newRequestId();
    return this.#requestId;
  }

  get method(): Method {
    return this.#request.route?.method ?? 'GET';
  }

  get headOnly(): boolean {
    return this.#request.method === 'HEAD';
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

  /** The address at the other end of the connection. */
  get peer(): string {
    return this.#request.peer;
  }

  get address(): string {
    const { peer } = this;
    return this.#host.trusted(peer) ? this.#known().address : peer;
  }

  get fromLoopback(): boolean {
    return this.#known().fromLoopback && this.#isOwners();
  }

  get secure(): boolean {
    return this.#known().secure;
  }

  /** Whether the answer is a stream. */
  get streamed(): boolean {
    return this.#stream !== undefined;
  }

  /** Calls the route's handler; the library corks until it returns. */
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

  stream(status: number, headers: Headers, length?: number): ResponseStream {
    const { writes, now } = this.#host;
    const stream =
      length === undefined
        ? new OpenStream(this.#response, writes, this)
        : new SizedStream(this.#response, now, this, length);
    if (!this.#mayAnswer(status)) {
      stream.close();
      // Writers are told that nobody reads.
      this.markLeft();
      return stream;
    }
    if (this.headOnly) {
      stream.close();
      this.#request.body?.drop();
      this.#state = 'over';
      this.#writer.headAlone(status, headers, length);
      this.#over(0);
      return stream;
    }
    this.#state = 'streaming';
    this.#stream = stream;
    this.#writer.begin(status, headers, () => {
      if (length !== undefined) this.#writer.sayWhetherClosed();
      stream.begin();
    });
    return stream;
  }

  /** Hands the connection to another protocol; `switchOver` is called unless there is an answer already. */
  switchTo(switchOver: (response: HttpResponse) => void): void {
    if (!this.#mayAnswer(101)) return;
    this.#state = 'over';
    this.#writer.switching(() => switchOver(this.#response));
    this.#over(0);
  }

  streamEnded(bytes: number): void {
    // The client has its answer; the rest of the body is dropped.
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
    // In the next turn, since the answer may still be corked.
    if (last || tooMuch) setImmediate(() => this.abort());
  }

  /** Refuses the body, because the gateway drains. */
  refuseBody(error: ServiceError): void {
    this.#request.body?.refuse(error);
  }

  /**
   * Called repeatedly while the gateway drains: cuts off a client that has its answer and has sent nothing
   * since the last call, or has had its time.
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

  /** Checks all bounds on time; called every few seconds. */
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

  /** What the client has cut off stands in no table any more: that it was there is asked behind the look. */
  #isOwners(): boolean {
    if (this.aborted || this.#state !== 'waiting' || !this.#host.ownerAlone()) return false;
    return this.#response.getRemoteAddress().byteLength > 0;
  }

  #known(): ClientAddress {
    const { peer, head } = this.#request;
    this.#client ??= clientAddress(peer, head, this.#host);
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
