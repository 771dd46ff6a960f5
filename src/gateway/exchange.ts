/**
 * Owns one request and its answer on the library's response object; nothing else touches that.
 *
 * 1. After an abort, and after the end, the response object is never used again.
 * 2. Every write is corked.
 * 3. A handler that throws or rejects is answered with a problem, or, when the answer has begun, by
 *    cutting the connection, so that nobody takes half an answer for a whole one.
 * 4. An answer that comes before the end of the body reaches the client: what is left of a short body
 *    is dropped and the connection kept; of a long one a bounded amount is read on, then it is closed.
 *    (Closing with bytes unread would reset the connection under the answer.)
 * 5. The library's own timer of about 10 s on stalled sockets is renewed by `tick`; our limits rule.
 */
import { asServiceError, ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import {
  headerLine,
  headerLines,
  missingSecurityLines,
  statusLine,
  toBlock,
  type HeadBlock,
} from './answer-head.ts';
import type {
  BodyFlow,
  BodySink,
  Exchange,
  Headers,
  Method,
  ResponseStream,
  Route,
} from './contract.ts';
import type { ClientAddress } from './client-address.ts';
import type { RouteCounts } from './metrics.ts';
import { OpenStream } from './open-stream.ts';
import { problemDocument, problemHeaders } from './problem.ts';
import type { RequestBody } from './request-body.ts';
import type { RequestHead } from './request-head.ts';
import type { HttpResponse } from './uws.ts';

/** How an exchange ended, for the access log and the metrics. */
export interface Ending {
  status: number;
  /** Of the answer's body. */
  bytes: number;
  aborted: boolean;
}

export interface ExchangeLimits {
  /** A handler that has not answered by then is answered for, and reported. */
  answerMs: number;
  /** A client that takes no byte of a plain answer, or of a stream, for so long is cut off. */
  sendStallMs: number;
  streamStallMs: number;
  /** How much and how long is read on behind an early answer, and for how long without a byte. */
  lingerBytes: number;
  lingerMs: number;
}

/** What an exchange needs of its gateway. */
export interface ExchangeHost {
  readonly limits: ExchangeLimits;
  readonly logger: Logger;
  /** Whether every answer now closes its connection. */
  readonly closing: boolean;
  now(): number;
  newRequestId(): string;
  fixedBlock(headers: Headers): HeadBlock;
  /** The answer is complete, or will never be. */
  answered(exchange: HttpExchange, ending: Ending): void;
  /** The response object is gone. */
  released(exchange: HttpExchange): void;
}

export interface ExchangeRequest {
  route: Route | undefined;
  method: string;
  params: Readonly<Record<string, string>>;
  head: RequestHead & { readonly query: string };
  body: RequestBody | undefined;
  client: () => ClientAddress;
  /** Close after the answer, whatever the client says. */
  lastOnConnection: boolean;
  counts: RouteCounts;
}

type State = 'waiting' | 'sending' | 'streaming' | 'lingering' | 'over';

/** Bodies up to here are handed to the library whole; it keeps a copy of what the socket refuses. */
const wholeBytes = 128 * 1024;
/** A rest of the request up to here is cheaper to read than a new connection. */
const shortRestBytes = 64 * 1024;
const noParams: Readonly<Record<string, string>> = Object.freeze({});

export class HttpExchange implements Exchange {
  readonly #response: HttpResponse;
  readonly #host: ExchangeHost;
  readonly #request: ExchangeRequest;
  /** On the clock of `performance`. */
  readonly startedMs = performance.now();
  #state: State = 'waiting';
  #aborted = false;
  /** While the library has corked for us: inside its call of the handler. */
  #corked = true;
  #requestId = '';
  #client: ClientAddress | undefined;
  #query: URLSearchParams | undefined;
  #controller: AbortController | undefined;
  #abortCallbacks: (() => void)[] = [];
  #extraLines = '';
  #stream: OpenStream | undefined;
  #status = 0;
  #sinceMs = 0;
  #lingerStart = 0;

  constructor(response: HttpResponse, host: ExchangeHost, request: ExchangeRequest) {
    this.#response = response;
    this.#host = host;
    this.#request = request;
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
    return this.#known().address;
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

  get answering(): boolean {
    return this.#state !== 'waiting';
  }

  get over(): boolean {
    return this.#state === 'over';
  }

  get streaming(): boolean {
    return this.#state === 'streaming';
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
    const value = (this.#request.params ?? noParams)[name];
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

  /** Calls the route's handler; afterwards the library no longer corks for us. */
  run(handle: (exchange: Exchange) => void | Promise<void>): void {
    try {
      const running = handle(this);
      if (running instanceof Promise) {
        running.catch((error: unknown) => {
          this.#failed(error);
        });
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#corked = false;
    }
  }

  body(maxBytes: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: ArrayBuffer[] = [];
      this.streamBody(maxBytes, {
        chunk(bytes) {
          chunks.push(bytes);
          return true;
        },
        end() {
          const [only] = chunks;
          const whole = chunks.length === 1 && only !== undefined;
          resolve(whole ? Buffer.from(only) : Buffer.concat(chunks.map((one) => Buffer.from(one))));
        },
        fail(reason) {
          if (reason !== 'aborted') reject(reason);
        },
      });
    });
  }

  streamBody(maxBytes: number, sink: BodySink): BodyFlow {
    const body = this.#request.body;
    if (body !== undefined && !this.#aborted) return body.read(maxBytes, sink);
    queueMicrotask(() => {
      if (this.#aborted) sink.fail('aborted');
      else sink.end();
    });
    return { resume() {} };
  }

  addHeader(name: string, value: string): void {
    const line = headerLine(name, value);
    this.#extraLines = this.#extraLines === '' ? line : `${this.#extraLines}\r\n${line}`;
  }

  send(status: number, headers: Headers, body: Uint8Array | string): void {
    if (!this.#mayAnswer()) return;
    this.#status = status;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (this.#longRest()) this.#sendAndLinger(status, headers, bytes);
    else {
      this.#request.body?.drop();
      if (bytes.byteLength > wholeBytes && this.#request.method !== 'HEAD')
        this.#sendLarge(status, headers, bytes);
      else this.#sendWhole(status, headers, bytes);
    }
  }

  json(status: number, value: unknown, headers?: Headers): void {
    const type = { 'Content-Type': 'application/json' };
    this.send(
      status,
      headers === undefined ? type : { ...type, ...headers },
      JSON.stringify(value),
    );
  }

  problem(error: ServiceError): void {
    this.send(error.status, problemHeaders(error), problemDocument(error, this.requestId));
  }

  stream(status: number, headers: Headers): ResponseStream {
    const stream = new OpenStream({
      response: this.#response,
      ended: (bytes) => {
        // What is left of the body is dropped by the library; the client has its answer.
        this.#request.body?.drop();
        this.#state = 'over';
        this.#answered(bytes, false);
        this.#host.released(this);
      },
      closes: () => this.#closes,
      now: () => this.#host.now(),
    });
    if (!this.#mayAnswer()) {
      stream.close();
      return stream;
    }
    this.#state = 'streaming';
    this.#status = status;
    this.#stream = stream;
    this.#cork(() => {
      this.#writeHead(status, headers);
      stream.begin(this.#request.method === 'HEAD');
    });
    return stream;
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
    const bytes = this.#stream?.bytes ?? 0;
    this.#stream?.close();
    this.#request.body?.fail('aborted');
    this.#controller?.abort();
    for (const callback of this.#abortCallbacks.splice(0)) this.#guarded(callback);
    this.#answered(bytes, true);
    this.#host.released(this);
  }

  /** The library read a part of the body. */
  received(chunk: ArrayBuffer, last: boolean): void {
    const body = this.#request.body;
    if (body === undefined) return;
    if (this.#state !== 'lingering') {
      this.#guarded(() => {
        body.receive(chunk, last);
      });
      return;
    }
    body.receive(chunk, last);
    const tooMuch = body.receivedBytes - this.#lingerStart > this.#host.limits.lingerBytes;
    if (last || tooMuch) this.#response.close();
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
        else this.#response.resume();
        return;
      case 'streaming': {
        this.#request.body?.tick();
        const stalledSinceMs = this.#stream?.stalledSinceMs ?? null;
        if (stalledSinceMs === null) return;
        if (nowMs - stalledSinceMs > streamStallMs) this.#response.close();
        else this.#response.resume();
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
    this.#client ??= this.#request.client();
    return this.#client;
  }

  #mayAnswer(): boolean {
    if (this.#aborted) return false;
    if (this.#state === 'waiting') return true;
    throw new Error(`Cannot answer ${this.route}: it has been answered`);
  }

  #longRest(): boolean {
    const body = this.#request.body;
    return body?.unfinished === true && (this.#closes || body.restBytes > shortRestBytes);
  }

  get #closes(): boolean {
    return this.#request.lastOnConnection || this.#host.closing;
  }

  #cork(write: () => void): void {
    if (this.#corked) write();
    else this.#response.cork(write);
  }

  #writeHead(status: number, headers: Headers): void {
    const response = this.#response;
    if (status !== 200) response.writeStatus(statusLine(status));
    const block =
      this.#request.route?.bare === true && status === 200 && this.#extraLines === ''
        ? this.#host.fixedBlock(headers)
        : toBlock(this.#lines(headers));
    response.writeHeader(block.first, block.rest);
  }

  #lines(headers: Headers): string {
    const lines = `X-Request-Id: ${this.requestId}\r\n${missingSecurityLines(headers)}`;
    const own = headerLines(headers);
    const extra = this.#extraLines;
    return `${lines}${own && `\r\n${own}`}${extra && `\r\n${extra}`}`;
  }

  #sendWhole(status: number, headers: Headers, bytes: Uint8Array): void {
    const bodiless = this.#request.method === 'HEAD' || status === 204 || status === 304;
    this.#state = 'over';
    this.#cork(() => {
      this.#writeHead(status, headers);
      if (bodiless) this.#endBodiless(bytes.byteLength);
      else this.#response.end(bytes, this.#closes);
    });
    this.#answered(bodiless ? 0 : bytes.byteLength, false);
    this.#host.released(this);
  }

  /**
   * A length that is told but not sent goes in as a field of ours: told to the library, it would wait
   * for the body for ever, and close the connection at the next request.
   */
  #endBodiless(length: number): void {
    if (this.#closes) this.#response.writeHeader('Connection', 'close');
    if (this.#request.method === 'HEAD') {
      this.#response.writeHeader('Content-Length', String(length));
    }
    this.#response.endWithoutBody();
  }

  /** Hands over as much as the socket takes, and the rest as it drains, without a copy of it. */
  #sendLarge(status: number, headers: Headers, bytes: Uint8Array): void {
    const response = this.#response;
    const total = bytes.byteLength;
    this.#state = 'sending';
    this.#sinceMs = this.#host.now();
    const attempt = (from: number): boolean => {
      let sent = false;
      const push = (): void => {
        const [ok, done] = response.tryEnd(bytes.subarray(from), total);
        sent = ok;
        if (!done) return;
        this.#state = 'over';
        this.#answered(total, false);
        this.#host.released(this);
      };
      this.#cork(push);
      return sent;
    };
    response.onWritable((offset) => {
      this.#sinceMs = this.#host.now();
      return this.#state !== 'sending' || attempt(offset);
    });
    this.#cork(() => {
      this.#writeHead(status, headers);
      if (this.#closes) response.writeHeader('Connection', 'close');
      attempt(0);
    });
  }

  /**
   * Sends the whole answer as head fields, which leaves the request open in the eyes of the library:
   * the only way to read on behind an answer. The body's last line end belongs to it.
   */
  #sendAndLinger(status: number, headers: Headers, bytes: Uint8Array): void {
    const body = Buffer.concat([bytes, Buffer.from('\r\n')]);
    const lines = `${this.#lines(headers)}\r\nConnection: close\r\nContent-Length: ${body.length}`;
    const { first, rest } = toBlock(`${lines}\r\n\r\n`);
    const content = this.#request.method === 'HEAD' ? Buffer.alloc(0) : bytes;
    this.#state = 'lingering';
    this.#sinceMs = this.#host.now();
    this.#lingerStart = this.#request.body?.receivedBytes ?? 0;
    this.#cork(() => {
      this.#response.writeStatus(statusLine(status));
      this.#response.writeHeader(first, Buffer.concat([Buffer.from(String(rest)), content]));
    });
    this.#request.body?.drop();
    this.#answered(bytes.byteLength, false);
  }

  #answered(bytes: number, aborted: boolean): void {
    this.#host.answered(this, { status: this.#status, bytes, aborted });
  }

  #failed(thrown: unknown): void {
    const error = asServiceError(thrown);
    if (error.code === 'INTERNAL') {
      const fields = { err: thrown, route: this.route, requestId: this.requestId };
      this.#host.logger.error(fields, 'request.failed');
    }
    if (this.#state === 'waiting') this.problem(error);
    else if (this.#state === 'streaming') this.#response.close();
  }

  #guarded(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#failed(error);
    }
  }

  #tooLate(): void {
    const fields = { route: this.route, requestId: this.requestId };
    this.#host.logger.warn(fields, 'request.unanswered');
    this.problem(new ServiceError('DEADLINE_EXCEEDED', 'The answer took too long.'));
  }
}
