/**
 * Owns what a transport sees of HTTP. The one class behind it (`exchange.ts`) owns abort, cork and
 * backpressure; no transport imports uWebSockets.js.
 *
 * 1. After an abort nothing is written and no callback but `onAbort` is called.
 * 2. Every write happens inside a cork.
 * 3. A handler that throws or rejects is answered with a problem document, when still possible.
 * 4. The first answer counts. One that comes after it, or after the exchange was answered for, is
 *    dropped, logged and counted; it never throws.
 */
import type { ServiceError } from '../lib/errors.ts';
import type { RequestHead } from './http/request-head.ts';

export type Method = 'GET' | 'POST' | 'DELETE' | 'OPTIONS';
export type Headers = Readonly<Record<string, string>>;

export interface Route {
  method: Method;
  /** A template such as `/api/apps/:id/logs`; also what the access log and the metrics show. */
  path: string;
  /** The answer of a GET route that is the same for everybody; the log shows it at debug level only. */
  constant?: ConstantAnswer;
  /**
   * What the activity calls a change made here, where a mutation does the same by its name. Default: the
   * method and the path, unless the method is GET or OPTIONS. Null: it changes nothing that is
   * recorded, or records that itself.
   */
  audit?: string | null;
  handle(exchange: Exchange): void | Promise<void>;
  /**
   * Answers with an error in the handler's place: it threw, it took too long, or the service drains.
   * Default: a problem document.
   */
  refuse?(exchange: Exchange, error: ServiceError): void;
}

/** Sent with status 200 and with these headers alone. */
export interface ConstantAnswer {
  headers: Headers;
  body: Uint8Array;
}

/** What a transport knows of a request that no header says. */
export interface LineNotes {
  /** The method inside the message. */
  readonly rpc?: string | null;
  readonly tool?: string | null;
  /** What the client calls itself. */
  readonly client?: string | null;
  /** A `traceparent` that came in the body: stands in for a header that is missing or is none. */
  readonly traceparent?: string | null;
}

export interface Exchange {
  readonly requestId: string;
  readonly method: Method;
  /** The route's template. */
  readonly route: string;
  /** The client: the peer's address, or what a trusted proxy says of it. */
  readonly address: string;
  /** Whether the peer itself is on this machine and no proxy speaks for somebody else. */
  readonly fromLoopback: boolean;
  /** https, at us or at a trusted proxy. */
  readonly secure: boolean;
  /** Nobody waits for an answer: the client left, or the handler took so long that it was answered for. */
  readonly aborted: boolean;
  /** Aborts when `aborted` becomes true. */
  readonly signal: AbortSignal;
  param(name: string): string;
  /** The values of the route's parameters, by name. */
  readonly params: Readonly<Record<string, string>>;
  /** All of the request's head, for who has the request answered elsewhere. */
  readonly head: RequestHead;
  readonly query: URLSearchParams;
  /** A request header by its lower-case name; '' when absent, joined by ", " when repeated. */
  header(name: string): string;
  /** How often a header stands in the request. */
  headerCount(name: string): number;
  /** Calls back once when nobody waits for the answer before it is complete; soon, where that is so. */
  onAbort(callback: () => void): void;
  /**
   * Says more of the request in the access log, until it is answered; what is said again wins. Never
   * a secret; words of the client are cut and made fit to be shown.
   */
  note(notes: LineNotes): void;

  /** The whole body. Rejects: PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT; never settles after an abort. */
  body(maxBytes: number): Promise<Buffer>;
  /**
   * The whole body for who answers at once: no promise is made and no copy taken, so the bytes are
   * lent to `take` until it returns. `refuse` is called where `body` rejects. What they throw is
   * answered as what a handler throws.
   */
  lendBody(
    maxBytes: number,
    take: (body: Buffer) => void,
    refuse: (reason: ServiceError) => void,
  ): void;
  /**
   * The body by chunks, each a copy of its own that may be transferred. The sink pauses the client
   * by returning false, until `resume`. `end` comes after the last chunk, `fail` instead of it
   * (PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, or an abort).
   */
  streamBody(maxBytes: number, sink: BodySink): BodyFlow;

  /** Answers, the first time. Strings are encoded; hand over bytes where speed counts. */
  send(status: number, headers: Headers, body: Uint8Array | string): void;
  /** The same with bytes that are only lent until it returns. */
  sendLent(status: number, headers: Headers, body: Uint8Array): void;
  json(status: number, value: unknown, headers?: Headers): void;
  problem(error: ServiceError): void;
  /** Begins an answer without end: `text/event-stream`, a long text. */
  stream(status: number, headers: Headers): ResponseStream;
  /** Sets a header of whatever answer follows, such as `Set-Cookie`. Repeats are kept. */
  addHeader(name: string, value: string): void;
}

export interface BodySink {
  /**
   * Offered a body that came in one piece, in place of `chunk` and `end`; the bytes are only lent.
   * False: not wanted this way.
   */
  lent?(bytes: ArrayBuffer): boolean;
  /**
   * Takes bytes that are only lent: copy what is kept. Returns false to stop the client until `resume`.
   * The library obeys only between two turns of the loop: what it reads until then comes all the same.
   */
  chunk(bytes: ArrayBuffer): boolean;
  end(): void;
  fail(reason: ServiceError | 'aborted'): void;
}

export interface BodyFlow {
  resume(): void;
}

export interface ResponseStream {
  readonly closed: boolean;
  /** False when the socket is full: write no more until `onWritable`. What was given is sent. */
  write(chunk: Uint8Array | string): boolean;
  onWritable(callback: () => void): void;
  end(lastChunk?: Uint8Array | string): void;
}
