/**
 * Owns requests that arrive on one thread and are answered on another, where the state of their routes
 * is. Head and answer cross whole; the body crosses when a handler asks for it. An exchange is no plain
 * data, which is why a door alone does not do.
 *
 * 1. The client sees no difference: every byte of the answer is the same. The request keeps the id that
 *    the access log of its thread shows.
 * 2. When a client leaves, the exchange on the other thread is aborted, too.
 */
import type { FailureHost } from '../gateway/http/base-exchange.ts';
import type { Exchange, Method, Route } from '../gateway/transport.ts';
import {
  type ForwardedAnswer,
  ForwardedExchange,
  type ForwardedRequest,
} from './forwarded-exchange.ts';

/** What the thread that answers does for others. */
export interface HomeRoutes {
  /** Null: the client has left, which `signal` says. */
  answer(request: ForwardedRequest, signal: AbortSignal): Promise<ForwardedAnswer | null>;
}

/** What a thread that has clients does for the one that answers. */
export interface RequestBodies {
  /** The whole body of an exchange; null: the client has left. */
  read(exchange: number, maxBytes: number): Promise<Uint8Array | null>;
}

/** How a route is named across threads. */
export interface RouteName {
  method: Method;
  path: string;
}

export interface ForwardedRoutesOptions {
  /** The routes that are answered over there. */
  routes: readonly RouteName[];
  home: HomeRoutes;
}

/** Bytes of a body, even when a handler would take more. */
const bodyMax = 1024 * 1024;

/** Routes for the thread that has the clients, and their bodies, for the one that answers. */
export function forwardedRoutes(options: ForwardedRoutesOptions): {
  routes: Route[];
  bodies: RequestBodies;
} {
  const { home } = options;
  const open = new Map<number, Exchange>();
  let lastId = 0;
  const forward = async (exchange: Exchange): Promise<void> => {
    const id = (lastId += 1);
    open.set(id, exchange);
    try {
      const answer = await home.answer(requestOf(id, exchange), exchange.signal);
      if (answer !== null) pass(answer, exchange);
    } catch (error) {
      // A client that has left is no failure.
      if (!exchange.aborted) throw error;
    } finally {
      open.delete(id);
    }
  };
  return {
    routes: options.routes.map(({ method, path }) => ({ method, path, handle: forward })),
    bodies: {
      read: async (id, maxBytes) => {
        const exchange = open.get(id);
        return exchange === undefined ? null : bodyOf(exchange, Math.min(maxBytes, bodyMax));
      },
    },
  };
}

export interface HomeRoutesOptions extends FailureHost {
  routes: readonly Route[];
  /** Of the thread that forwards. */
  bodies: RequestBodies;
}

/** Has routes of this thread answer what another one forwards. */
export function homeRoutes({ routes, bodies, ...host }: HomeRoutesOptions): HomeRoutes {
  const byName = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
  return {
    answer: (request, signal) => {
      const name = `${request.method} ${request.route}`;
      const route = byName.get(name);
      if (route === undefined)
        throw new Error(`Cannot answer ${name}: there is no such route here`);
      return new Promise((resolve) => {
        const exchange = new ForwardedExchange(request, {
          ...host,
          body: (maxBytes) => bodies.read(request.exchange, maxBytes),
          answer: resolve,
        });
        signal.addEventListener('abort', () => {
          exchange.clientLeft();
          resolve(null);
        });
        exchange.run(route);
      });
    },
  };
}

function requestOf(id: number, exchange: Exchange): ForwardedRequest {
  const { requestId, method, route, params, head, address, fromLoopback, secure } = exchange;
  const { query, fields } = head;
  const about = { requestId, method, route, params, query, fields };
  return { exchange: id, ...about, address, fromLoopback, secure };
}

function bodyOf(exchange: Exchange, maxBytes: number): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    exchange.onAbort(() => resolve(null));
    exchange.lendBody(maxBytes, (body) => resolve(new Uint8Array(body)), reject);
  });
}

function pass({ status, headers, body, added, notes }: ForwardedAnswer, exchange: Exchange): void {
  if (exchange.aborted) return;
  for (const [name, value] of added) exchange.addHeader(name, value);
  if (notes !== null) exchange.note(notes);
  exchange.send(status, headers, body);
}
