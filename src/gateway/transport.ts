/**
 * Owns what a transport sees of HTTP. Abort, cork and backpressure are in `http/exchange.ts`; no transport
 * imports uWebSockets.js.
 *
 * 1. After an abort nothing is written and no callback but `onAbort` is called.
 * 2. Every write happens inside a cork.
 * 3. When a handler throws or rejects before it has answered, a problem document is the answer.
 * 4. The first answer counts. A second answer, or a late one, is dropped, logged and counted; it never
 *    throws.
 */
import type { ServiceError } from '../lib/errors.ts';
import type { RequestHead } from './http/request-head.ts';

export type Method = 'GET' | 'POST' | 'DELETE' | 'OPTIONS';
export type Headers = Readonly<Record<string, string>>;

export interface Route {
  method: Method;
  /** A template such as `/api/apps/:id/logs`, which the access log and the metrics show, too. */
  path: string;
  /** The answer of a GET route that is the same for everybody; the log shows it at debug level only. */
  constant?: ConstantAnswer;
  /** Whether a GET route answers HEAD, too: its handler runs, and its body is not sent. */
  head?: true;
  /**
   * The name of this change in the activity; a mutation is recorded by its own name. Default: the method
   * and the path, unless the method is GET or OPTIONS. Null: the route changes nothing that is recorded, or
   * records its change itself.
   */
  audit?: string | null;
  handle(exchange: Exchange): void | Promise<void>;
  /**
   * Answers with an error when the handler threw, took too long, or the service drains. Default: a problem
   * document.
   */
  refuse?(exchange: Exchange, error: ServiceError): void;
}

/** Sent with status 200 and with these headers only. */
export interface ConstantAnswer {
  headers: Headers;
  body: Uint8Array;
}

/** What a transport adds to the access log line of its request. */
export interface LineNotes {
  /** The method named in the message. */
  readonly rpc?: string | null;
  readonly tool?: string | null;
  /** The client's own name for itself. */
  readonly client?: string | null;
  /** A `traceparent` of the body, for a request without a valid header. */
  readonly traceparent?: string | null;
}

export interface Exchange {
  readonly requestId: string;
  readonly method: Method;
  /** Whether only the head of the answer is sent. */
  readonly headOnly: boolean;
  /** The route's template. */
  readonly route: string;
  /** The client: the peer's address, or the address that a trusted proxy names. */
  readonly address: string;
  /** Whether the peer is on this machine, no proxy speaks for another client, and the Host names us. */
  readonly fromLoopback: boolean;
  /** Whether the client uses https, with us or with a trusted proxy. */
  readonly secure: boolean;
  /** Nobody waits for an answer: the client left, or the gateway answered for a slow handler. */
  readonly aborted: boolean;
  /** Aborts when `aborted` becomes true. */
  readonly signal: AbortSignal;
  param(name: string): string;
  /** The values of the route's parameters, by name. */
  readonly params: Readonly<Record<string, string>>;
  /** The whole head of the request, for forwarding it. */
  readonly head: RequestHead;
  readonly query: URLSearchParams;
  /** A request header by its lower-case name; '' when absent, joined by ", " when repeated. */
  header(name: string): string;
  /** How often a header stands in the request. */
  headerCount(name: string): number;
  /** Calls back once when `aborted` becomes true before the answer is complete, or is true already. */
  onAbort(callback: () => void): void;
  /**
   * Adds to the access log line of the request, until the request is answered. The last value of a name
   * wins. Never a secret. The client's words are shortened and made safe to show.
   */
  note(notes: LineNotes): void;

  /** The whole body. Rejects: PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT; never settles after an abort. */
  body(maxBytes: number): Promise<Buffer>;
  /**
   * The whole body without a copy: the bytes are lent to `take` until it returns. `refuse` is called where
   * `body` would reject. An error that either throws counts as thrown by the handler.
   */
  lendBody(
    maxBytes: number,
    take: (body: Buffer) => void,
    refuse: (reason: ServiceError) => void,
  ): void;
  /**
   * The body in chunks. The sink returns false to pause the client until `resume`. `end` comes after the
   * last chunk; on a failure `fail` comes instead (PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, or an abort).
   */
  streamBody(maxBytes: number, sink: BodySink): BodyFlow;

  /** Answers. Strings are encoded as UTF-8; bytes are faster. */
  send(status: number, headers: Headers, body: Uint8Array | string): void;
  /** Answers with bytes that may change once the call has returned. */
  sendLent(status: number, headers: Headers, body: Uint8Array): void;
  json(status: number, value: unknown, headers?: Headers): void;
  problem(error: ServiceError): void;
  /**
   * Begins an answer that is sent in chunks, such as `text/event-stream`. With a `length` the client is told how
   * many bytes come, and the answer ends with the last of them. For HEAD the stream is closed at once.
   */
  stream(status: number, headers: Headers, length?: number): ResponseStream;
  /** Sets a header of whatever answer follows, such as `Set-Cookie`. Repeats are kept. */
  addHeader(name: string, value: string): void;
}

export interface BodySink {
  /**
   * Takes a body that came in one piece, in place of `chunk` and `end`; the bytes are only lent. False:
   * `chunk` and `end` are called after all.
   */
  lent?(bytes: ArrayBuffer): boolean;
  /**
   * Takes bytes that are only lent: the sink copies what it keeps. Returns false to pause the client until
   * `resume`. The library pauses at the end of the turn; what it reads until then is delivered all the
   * same.
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
  /** False when the socket is full: wait for `onWritable`. The chunk is sent all the same. */
  write(chunk: Uint8Array | string): boolean;
  onWritable(callback: () => void): void;
  end(lastChunk?: Uint8Array | string): void;
}

/** An address at which a connection changes from HTTP to WebSocket (RFC 6455). GET alone stands there. */
export interface WebSocketRoute {
  path: string;
  /** The subprotocol, which is named to clients that offer it. */
  protocol: string;
  /** A longer message cuts the connection. */
  messageBytes: number;
  /** A client that gives no sign of life for so long, though it is asked for one halfway, is cut off. */
  idleS: number;
  /** Judges a request to change; what it throws is answered in place of that. `speaks`: the subprotocol is offered. */
  accept(exchange: Exchange, speaks: boolean): WebSocketHandler;
}

/** What becomes of a connection that has changed. */
export interface WebSocketHandler {
  opened(socket: OpenWebSocket): void;
  /** Null: it was of bytes, not of text. */
  message(text: string | null): void;
  /** The socket has taken all that was sent. */
  drained(): void;
  /** Called once, whoever closed it; nothing is called afterwards. */
  closed(): void;
}

/** After its end every call does nothing. */
export interface OpenWebSocket {
  /** Whether the socket has not taken all that was sent. */
  readonly isFull: boolean;
  send(text: string): void;
  /** Says why, in up to 123 bytes, and closes. */
  end(code: number, reason: string): void;
  /** Closes without a word. */
  cut(): void;
}
