/**
 * Owns the WebSockets of a gateway: the change from HTTP, and the library's sockets, which nothing else touches.
 *
 * 1. Nothing is written to a socket after its end, and nothing that a handler throws reaches the library.
 * 2. A request to change is checked like any other, and what refuses it is a problem document.
 * 3. Extensions are not spoken: compression would cost memory for each connection.
 */
import { type Clock, systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { type MetricFamily, singleSample } from '../metrics-text.ts';
import type { Exchange, OpenWebSocket, WebSocketHandler, WebSocketRoute } from '../transport.ts';
import type {
  HttpRequest,
  HttpResponse,
  LibrarySocket,
  SocketContext,
  WebSocketBehavior,
} from '../uws.ts';
import type { HttpExchange } from './exchange.ts';

export interface WebSocketsHost {
  /** Runs work of a handler; false when it threw. */
  guarded(work: () => void): boolean;
  /** Handles a request of the peer (null: anybody); `change` is called when nothing refuses it. */
  request(response: HttpResponse, request: HttpRequest, peer: string | null, change: Change): void;
  /** Called before a message is handed on. */
  beforeMessage(): void;
  /** A connection that had changed is gone. */
  gone(): void;
}

/** Changes the connection of an exchange, or throws what is answered instead. */
export type Change = (exchange: HttpExchange) => void;

interface UserData {
  socket: Socket;
}

/** RFC 6455, section 7.4.1: a condition that the server did not expect. */
const internalError = 1011;

export class WebSockets {
  readonly #host: WebSocketsHost;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #open = new Set<Socket>();
  #emptied: () => void = () => undefined;

  constructor(host: WebSocketsHost, clock: Pick<Clock, 'after'> = systemClock) {
    this.#host = host;
    this.#clock = clock;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The addresses at the other ends. */
  *peers(): Iterable<string> {
    for (const { peer } of this.#open) yield peer;
  }

  /** What the library does at the path of a route. `peer`: who is at the other end; null: anybody. */
  behavior(route: WebSocketRoute, peer: string | null): WebSocketBehavior<UserData> {
    return {
      maxPayloadLength: route.messageBytes,
      idleTimeout: route.idleS,
      sendPingsAutomatically: true,
      // A message that was dropped would be missed by nobody; handlers look whether the socket is full.
      maxBackpressure: 0,
      upgrade: (response, request, context) => {
        const change = changeOf(route, request, context);
        this.#host.request(response, request, peer, change);
      },
      open: (socket) => this.#opened(socket),
      message: (socket, bytes, isBinary) => this.#message(socket, bytes, isBinary),
      drain: (socket) => {
        if (socket.getBufferedAmount() > 0) return;
        this.#host.guarded(() => ownOf(socket).handler.drained());
      },
      close: (socket) => this.#closed(ownOf(socket)),
    };
  }

  /** Resolves when none is open, or after `ms`. */
  async emptyWithin(ms: number): Promise<void> {
    if (this.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#emptied = () => {
        cancel();
        resolve();
      };
    });
  }

  cutAll(): void {
    for (const socket of [...this.#open]) socket.cut();
  }

  families(): MetricFamily[] {
    return [singleSample('gangway_http_websockets', 'Open WebSockets.', this.size)];
  }

  #opened(library: LibrarySocket<UserData>): void {
    const socket = ownOf(library);
    this.#open.add(socket);
    socket.begin(library);
    if (!this.#host.guarded(() => socket.handler.opened(socket))) socket.fail();
  }

  #message(library: LibrarySocket<UserData>, bytes: ArrayBuffer, isBinary: boolean): void {
    const socket = ownOf(library);
    const isDone = this.#host.guarded(() => {
      this.#host.beforeMessage();
      socket.handler.message(isBinary ? null : Buffer.from(bytes).toString());
    });
    if (!isDone) socket.fail();
  }

  #closed(socket: Socket): void {
    socket.over();
    this.#open.delete(socket);
    this.#host.guarded(() => socket.handler.closed());
    this.#host.guarded(() => this.#host.gone());
    if (this.size === 0) this.#emptied();
  }
}

class Socket implements OpenWebSocket {
  readonly handler: WebSocketHandler;
  /** The address at the other end. */
  readonly peer: string;
  /** Null before and after the time that the library's socket may be used in. */
  #library: LibrarySocket<UserData> | null = null;

  constructor(handler: WebSocketHandler, peer: string) {
    this.handler = handler;
    this.peer = peer;
  }

  begin(library: LibrarySocket<UserData>): void {
    this.#library = library;
  }

  over(): void {
    this.#library = null;
  }

  get isFull(): boolean {
    return (this.#library?.getBufferedAmount() ?? 0) > 0;
  }

  send(text: string): void {
    this.#library?.cork(() => this.#library?.send(text));
  }

  end(code: number, reason: string): void {
    this.#library?.end(code, reason);
  }

  cut(): void {
    this.#library?.close();
  }

  /** Its handler threw. */
  fail(): void {
    this.end(internalError, 'Something went wrong on our side.');
  }
}

function ownOf(library: LibrarySocket<UserData>): Socket {
  return library.getUserData().socket;
}

/** Reads at once what the library's request says, which is gone later. */
function changeOf(route: WebSocketRoute, request: HttpRequest, context: SocketContext): Change {
  const key = request.getHeader('sec-websocket-key');
  return (exchange) => {
    refuseUnlikely(exchange);
    const offered = exchange.header('sec-websocket-protocol').split(',');
    const speaks = offered.some((name) => name.trim() === route.protocol);
    const socket = new Socket(route.accept(exchange, speaks), exchange.peer);
    exchange.switchTo((response) => {
      response.upgrade({ socket }, key, speaks ? route.protocol : '', '', context);
    });
  };
}

/** The library looks at the key alone. */
function refuseUnlikely(exchange: Pick<Exchange, 'header' | 'headerCount'>): void {
  if (exchange.header('sec-websocket-version') !== '13') {
    throw new ServiceError('BAD_REQUEST', 'WebSocket of version 13 is spoken here.', {
      headers: { 'Sec-WebSocket-Version': '13' },
    });
  }
  if (exchange.header('upgrade').toLowerCase() !== 'websocket') {
    throw new ServiceError('BAD_REQUEST', 'Upgrade must be websocket.');
  }
  // What follows such a head would be a body for some, and frames for others.
  if (exchange.headerCount('content-length') + exchange.headerCount('transfer-encoding') > 0) {
    throw new ServiceError('BAD_REQUEST', 'A request for a WebSocket has no body.');
  }
}
