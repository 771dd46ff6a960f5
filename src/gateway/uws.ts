/**
 * Owns the native HTTP library: the one module that imports it.
 *
 * 1. The library is loaded once in a process. It reads its limit on request heads from an environment
 *    variable while loading, so the first gateway of a process sets the limit.
 * 2. `http/framing.ts` refuses what the library accepts against RFC 9112; `http/exchange.ts` keeps alive
 *    what it would time out too early.
 */
import type * as uws from 'uWebSockets.js';

export type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket as ListenSocket,
  us_socket_context_t as SocketContext,
  WebSocket as LibrarySocket,
  WebSocketBehavior,
} from 'uWebSockets.js';

export type Uws = typeof uws;

/** Loads the library with room for heads of `headBytes`; above it the library answers 431 by itself. */
export async function loadUws(
  headBytes: number,
  setVariable?: (name: string, value: string) => void,
): Promise<Uws> {
  setVariable?.('UWS_HTTP_MAX_HEADERS_SIZE', String(headBytes));
  return import('uWebSockets.js');
}

/** An overload of `listen` that is missing in the library's types. */
interface Listens {
  listen(
    host: string,
    port: number,
    options: number,
    listening: (socket: uws.us_listen_socket | false) => void,
  ): void;
}

// LIBUS_LISTEN_EXCLUSIVE_PORT and its opposite, the library's default.
const exclusive = 1;
const sharing = 0;

/**
 * Listens; false when that fails. Unless the port is `shared`, nobody else may listen on it. By default the
 * library would share it, and its connections, with any process of the same user.
 */
export function listenOn(
  app: uws.TemplatedApp,
  host: string,
  port: number,
  shared: boolean,
): Promise<uws.us_listen_socket | false> {
  return new Promise((resolve) =>
    (app as unknown as Listens).listen(host, port, shared ? sharing : exclusive, resolve),
  );
}

/** Listens on a Unix socket, which must not be there; false when that fails. */
export function listenAt(
  app: uws.TemplatedApp,
  path: string,
): Promise<uws.us_listen_socket | false> {
  return new Promise((resolve) => app.listen_unix(resolve, path));
}
