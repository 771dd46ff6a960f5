/**
 * Owns one request and its answer on the library's response object; nothing else touches that.
 *
 * 1. After an abort, and after the end, the response object is never used again.
 * 2. A handler that throws or rejects is answered with a problem, or, when the answer has begun, by
 *    cutting the connection, so that nobody takes half an answer for a whole one.
 * 3. An answer that comes before the end of the body reaches the client: what is left of a short body
 *    is dropped and the connection kept; of a long one a bounded amount is read on, then it is closed.
 *    (Closing with bytes unread would reset the connection under the answer.)
 * 4. The library's own timer of about 10 s on stalled sockets is renewed by `tick`; our limits rule.
 */
import { asServiceError, ServiceError } from '../lib/errors.ts';
import { AnswerWriter } from './answer-writer.ts';
import { clientAddress, type ClientAddress } from './client-address.ts';
import type {
  BodyFlow,
  BodySink,
  Exchange,
  Headers,
  LineNotes,
  Method,
  ResponseStream,
  Route,
} from './contract.ts';
import type { ExchangeHost, ExchangeRequest } from './exchange-host.ts';
import type { RouteCounts } from './metrics.ts';
import { GuardedSink } from './guarded-sink.ts';
import { OpenStream } from './open-stream.ts';
import { problemDocument, problemHeaders } from './problem.ts';
import { renewTimer } from './request-body.ts';
import type { HttpResponse } from './uws.ts';
import { WholeBody } from './whole-body.ts';

type State = 'waiting' | 'sending' | 'streaming' | 'lingering' | 'over';

/** Bodies up to here are handed to the library whole; it keeps a copy of what the socket refuses. */
const wholeBytes = 128 * 1024;
const jsonType: Headers = Object.freeze({ 'Content-Type': 'application/json' });

const nothingFlows: BodyFlow = Object.freeze({ resume: () => undefined });

export class HttpExchange implements Exchange {
  readonly #response: HttpResponse;
  readonly #host: ExchangeHost<HttpExchange>;
  readonly #request: ExchangeRequest;
  readonly #writer: AnswerWriter;
  /** On the clock of `performance`. */
  readonly startedMs = performance.now();
  #state: State = 'waiting';
  #aborted = false;
  #requestId = '';
  #client: ClientAddress | undefined;
  #query: URLSearchParams | undefined;
  #controller: AbortController | undefined;
  #abortCallbacks: (() => void)[] = [];
  #stream: OpenStream | undefined;
  #notes: LineNotes | undefined;
  #status = 0;
  #sinceMs = 0;
  #lingerStart = 0;

  constructor(response: HttpResponse, host: ExchangeHost<HttpExchange>, request: ExchangeRequest) {
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

  get aborted(): boolean {
    return this.#aborted;
  }

  get over(): boolean {
    return this.#state === 'over';
  }

  /** Whether the answer had no known end. */
  get streamed(): boolean {
    return this.#stream !== undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#request.head.query);
    return this.#query;
  }

  param(name: string): string {
    const value = this.#request.params[name];
    if (value === undefined) throw new Error(`Cannot read parameter ${name}: the route has none`);
    return value;
  }

  header(name: string): string {
    return this.#request.head.header(name);
  }

  headerCount(name: string): number {
    return this.#request.head.headerCount(name);
  }

  onAbort(callback: () => void): void {
    this.#abortCallbacks.push(callback);
  }

  note(notes: LineNotes): void {
    this.#notes = this.#notes === undefined ? notes : { ...this.#notes, ...notes };
  }

  get notes(): LineNotes | undefined {
    return this.#notes;
  }

  /** Calls the route's handler; afterwards the library no longer corks for us. */
  run(route: Pick<Route, 'handle'>): void {
    try {
      const running = route.handle(this);
      if (running instanceof Promise) {
        running.catch((error: unknown) => {
          this.fail(error);
        });
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#writer.corked = false;
    }
  }

  body(maxBytes: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.streamBody(maxBytes, new WholeBody(resolve, reject, true));
    });
  }

  lendBody(
    maxBytes: number,
    take: (body: Buffer) => void,
    refuse: (reason: ServiceError) => void,
  ): void {
    this.streamBody(maxBytes, new WholeBody(take, refuse, false));
  }

  streamBody(maxBytes: number, sink: BodySink): BodyFlow {
    const guarded = new GuardedSink(sink, this);
    const body = this.#request.body;
    if (body !== undefined && !this.#aborted) return body.read(maxBytes, guarded);
    queueMicrotask(() => {
      if (this.#aborted) guarded.fail('aborted');
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

  json(status: number, value: unknown, headers?: Headers): void {
    const all = headers === undefined ? jsonType : { ...jsonType, ...headers };
    this.send(status, all, JSON.stringify(value));
  }

  problem(error: ServiceError): void {
    this.#host.refused(error.code);
    this.send(error.status, problemHeaders(error), problemDocument(error, this.requestId));
  }

  stream(status: number, headers: Headers): ResponseStream {
    const stream = new OpenStream(this.#response, this.#host.writes, this);
    if (!this.#mayAnswer(status)) {
      stream.close();
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
    this.#aborted = true;
    this.#stream?.close();
    this.#request.body?.fail('aborted');
    this.#controller?.abort();
    for (const callback of this.#abortCallbacks.splice(0)) this.#guarded(callback);
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
    if (this.#request.body?.flowing === true) this.#request.body.fail(error);
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
    if (this.#aborted) return false;
    if (this.#state !== 'waiting') {
      throw new Error(`Cannot answer ${this.route}: it has been answered`);
    }
    this.#status = status;
    return true;
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

  /** A handler threw or rejected. */
  fail(thrown: unknown): void {
    const error = asServiceError(thrown);
    if (error.code === 'INTERNAL') {
      const fields = { err: thrown, route: this.route, requestId: this.requestId };
      this.#host.logger.error(fields, 'request.failed');
    }
    if (this.#state === 'waiting') this.problem(error);
    else if (this.#state === 'streaming') this.#response.close();
  }

  /** Callbacks of transports run inside callbacks of the library, where a throw ends the process. */
  #guarded<T>(callback: () => T): T | undefined {
    try {
      return callback();
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  #tooLate(): void {
    const fields = { route: this.route, requestId: this.requestId };
    this.#host.logger.warn(fields, 'request.unanswered');
    this.problem(new ServiceError('DEADLINE_EXCEEDED', 'The answer took too long.'));
  }
}
