/**
 * Owns GraphQL over WebSocket, at the address of GraphQL over HTTP: who may connect, and all connections.
 *
 * 1. A browser sends the session cookie with a handshake that any page begins, and pages of other sites may read what
 *    comes. So a handshake with a session is refused where it comes from another site, and one without gets nowhere
 *    from there but with a token, which `connection_init` carries.
 * 2. A connection is a stream of its person, and so is each operation on it; they are counted with those over SSE.
 *    Until `connection_init` it is one of its network, of which so many may wait.
 * 3. Every connection is looked at every `checkMs`: whose session or token has ended is closed.
 * 4. `drain` closes every connection with 1001 as soon as its queries and mutations are answered.
 */
import type { Authenticator } from '../../auth/callers/authenticator.ts';
import type { Graphql } from '../../graphql/graphql.ts';
import { type Clock, every } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { networkOf } from '../../lib/networks.ts';
import { OwnStreamRoom, type StreamRoom } from '../../logs/viewers/stream-room.ts';
import { type CloseCode, graphqlTransportWs } from '../../protocol/graphql-transport-ws.ts';
import { type Callers, type CallerSide, originOf } from '../credentials.ts';
import { type MetricFamily, singleSample } from '../metrics-text.ts';
import type { Exchange, WebSocketRoute } from '../transport.ts';
import { GraphqlSocket, type Handshake, type Identity, type SocketHost } from './graphql-socket.ts';
import { graphqlStreamsMax, personOf } from './graphql-streams.ts';

export interface GraphqlSocketsOptions {
  graphql: Pick<Graphql, 'load'>;
  callers: Pick<Callers, 'either' | 'refuseCrossSite'>;
  authenticator: Pick<Authenticator, 'stillValid'>;
  clock: Clock;
  logger: Logger;
  /** Where streams are counted, together with those over SSE. */
  room: StreamRoom;
  /** Streams that one person may hold, and connections of a network that wait for `connection_init`; default 256. */
  perPersonMax?: number;
  /** Milliseconds that `connection_init` is waited for; default 10,000. */
  initMs?: number;
  /** Operations of one connection at a time; default 100. */
  operationsMax?: number;
  /** Milliseconds between two looks at every connection; default 500. */
  checkMs?: number;
  /** Seconds of silence after which a client is cut off, asked for a sign of life halfway; default 32. */
  idleS?: number;
}

/** More than a document and usual variables take; what is larger goes by POST. */
const messageBytes = 128 * 1024;

export class GraphqlSockets {
  readonly route: WebSocketRoute;
  readonly #options: GraphqlSocketsOptions;
  readonly #host: SocketHost;
  readonly #sockets = new Set<GraphqlSocket>();
  /** Connections of each network before `connection_init`. */
  readonly #newcomers: OwnStreamRoom;
  readonly #closes = new Map<CloseCode | 'cut', number>();
  #stopChecks: (() => void) | null = null;
  #isDraining = false;

  constructor(options: GraphqlSocketsOptions) {
    const { perPersonMax = graphqlStreamsMax, idleS = 32 } = options;
    this.#options = options;
    this.#newcomers = new OwnStreamRoom(perPersonMax);
    this.#host = this.#newHost(perPersonMax);
    this.route = {
      path: '/api/graphql',
      protocol: graphqlTransportWs,
      messageBytes,
      idleS,
      accept: (exchange, speaks) => this.#accept(exchange, speaks),
    };
  }

  /** How many connections are open. */
  get size(): number {
    return this.#sockets.size;
  }

  drain(): void {
    this.#isDraining = true;
    for (const socket of [...this.#sockets]) socket.drain();
  }

  families(): MetricFamily[] {
    const operations = [...this.#sockets].reduce((sum, { size }) => sum + size, 0);
    return [
      singleSample('gangway_graphql_sockets', 'Open WebSockets of GraphQL.', this.size),
      singleSample('gangway_graphql_socket_operations', 'Operations under way there.', operations),
      {
        name: 'gangway_graphql_socket_closes_total',
        help: 'WebSockets of GraphQL that the service closed, by code.',
        type: 'counter',
        samples: [...this.#closes].map(([code, value]) => ({
          labels: { code: String(code) },
          value,
        })),
      },
    ];
  }

  #accept(exchange: Exchange, speaks: boolean): GraphqlSocket {
    const { callers } = this.#options;
    callers.either(exchange, { changes: true });
    const network = networkOf(exchange.address);
    if (!this.#newcomers.reserve(network)) {
      throw new ServiceError('TOO_MANY_STREAMS', 'Too many connections wait to be initialised.');
    }
    let isSettled = false;
    const handshake: Handshake = {
      speaks,
      origin: originOf(exchange),
      requestId: exchange.requestId,
      identify: (payload) => this.#identify(exchange, payload),
      settled: () => {
        if (!isSettled) this.#newcomers.release(network);
        isSettled = true;
      },
    };
    return new GraphqlSocket(this.#host, handshake);
  }

  #identify(exchange: Exchange, payload: Readonly<Record<string, unknown>>): Identity {
    const { callers } = this.#options;
    const principal = callers.either(withNamed(exchange, payload), { changes: false });
    if (principal.kind !== 'token') callers.refuseCrossSite(exchange);
    return { principal, person: personOf(principal, exchange.address) };
  }

  #newHost(perPersonMax: number): SocketHost {
    const { clock, logger, room, graphql, authenticator } = this.#options;
    const { initMs = 10_000, operationsMax = 100 } = this.#options;
    return {
      ...{ clock, logger, room, perPersonMax, initMs, operationsMax },
      lanes: () => graphql.load(),
      stillValid: (principal) => authenticator.stillValid(principal),
      opened: (socket) => this.#opened(socket),
      closed: (socket) => this.#closed(socket),
      closing: (code) => this.#closes.set(code, (this.#closes.get(code) ?? 0) + 1),
    };
  }

  #opened(socket: GraphqlSocket): void {
    const { clock, checkMs = 500 } = this.#options;
    this.#sockets.add(socket);
    this.#stopChecks ??= every(clock, checkMs, () => {
      for (const one of [...this.#sockets]) one.check();
    });
    if (this.#isDraining) socket.drain();
  }

  #closed(socket: GraphqlSocket): void {
    this.#sockets.delete(socket);
    if (this.#sockets.size > 0) return;
    this.#stopChecks?.();
    this.#stopChecks = null;
  }
}

/** The request as if it had named the token and the team that `connection_init` names. */
function withNamed(exchange: Exchange, payload: Readonly<Record<string, unknown>>): CallerSide {
  const named = new Map<string, string>();
  for (const [name, key] of namedFields) {
    const value = payload[key];
    if (value == null) continue;
    if (typeof value !== 'string')
      throw new ServiceError('BAD_REQUEST', `${key} must be a string.`);
    named.set(name, value);
  }
  const authorization = named.get('authorization');
  if (authorization !== undefined && !/^bearer /i.test(authorization)) {
    throw new ServiceError('UNAUTHENTICATED', 'authorization must be a bearer token.');
  }
  const { address, secure } = exchange;
  return {
    address,
    secure,
    header: (name) => named.get(name) ?? exchange.header(name),
    headerCount: (name) => (named.has(name) ? 1 : exchange.headerCount(name)),
    // The handshake is answered.
    addHeader: () => undefined,
  };
}

const namedFields = [
  ['authorization', 'authorization'],
  ['x-service-team', 'team'],
] as const;
