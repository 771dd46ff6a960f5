/** GraphQL behind a real socket, over a store in memory, the real authenticator and real actors. */
import assert from 'node:assert/strict';
import { MessageChannel } from 'node:worker_threads';
import { createAccountReads } from '../../src/auth/callers/account-reads.ts';
import type { Accounts } from '../../src/auth/sign-in/accounts.ts';
import { createAuthenticator } from '../../src/auth/callers/authenticator.ts';
import { sealSessionCookie } from '../../src/auth/callers/session-cookie.ts';
import { OwnStreamRoom, type StreamRoom } from '../../src/logs/viewers/stream-room.ts';
import type { StreamView } from '../../src/logs/live/log-streams.ts';
import { Callers } from '../../src/gateway/credentials.ts';
import type { GatewayOptions } from '../../src/gateway/server.ts';
import {
  GraphqlSockets,
  type GraphqlSocketsOptions,
} from '../../src/gateway/transports/graphql-sockets.ts';
import { GraphqlStreams } from '../../src/gateway/transports/graphql-streams.ts';
import { graphqlRoutes } from '../../src/gateway/transports/graphql.ts';
import type { WriteSide } from '../../src/graphql/context.ts';
import { Graphql, type GraphqlOptions } from '../../src/graphql/graphql.ts';
import { homeDoors } from '../../src/threads/doors.ts';
import { PortCalls } from '../../src/threads/port-calls.ts';
import { openDoor, serveDoor } from '../../src/threads/remote-door.ts';
import { homeMutations, remoteMutations } from '../../src/threads/remote-mutations.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { LogName } from '../../src/logs/files/log.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { GraphqlFixture, settings } from './graphql-fixture.ts';

const secret = 'secret-of-a-test';

export interface GraphqlGateway {
  url: string;
  fixture: GraphqlFixture;
  gateway: TestGateway;
  graphql: Graphql;
  streams: GraphqlStreams;
  sockets: GraphqlSockets;
  /** Lines added to a log's live feed, which wakes its viewers. */
  feed(log: LogName, ...lines: string[]): void;
  endFeed(log: LogName): void;
  /** A `Cookie` header of a new session. */
  cookie(userId: string): string;
  token(userId?: string): string;
  post(body: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export async function startGraphql(
  options: Partial<Pick<GraphqlOptions, 'limits' | 'pool' | 'reuseBytes'>> & {
    /** Mutations run over a port, as on another thread. */
    mutationsOverPort?: boolean;
    accounts?: Accounts;
    audit?: NonNullable<WriteSide['audit']>;
    searches?: NonNullable<WriteSide['searches']>;
    perPersonMax?: number;
    room?: StreamRoom;
    pingMs?: number;
    sockets?: Partial<GraphqlSocketsOptions>;
    bodyMax?: number;
    gateway?: Partial<GatewayOptions>;
  } = {},
): Promise<GraphqlGateway> {
  const fixture = new GraphqlFixture();
  const { store, log: logger } = fixture.accounts;
  const clock = {
    now: () => fixture.accounts.clock.now(),
    after: systemClock.after.bind(systemClock),
  };
  const authenticator = createAuthenticator({
    reader: store,
    subscribe: (listener) => store.subscribe(listener),
    actors: fixture.accounts.runtime,
    clock,
    log: logger,
    secret,
  });
  const live = liveFeeds(fixture);
  const home: GraphqlOptions = {
    read: {
      reader: store,
      logs: fixture.logs,
      metrics: { read: () => [], readTraffic: () => [] },
      accounts: createAccountReads(store),
    },
    write: {
      actors: fixture.accounts.runtime,
      accounts: () => Promise.resolve(options.accounts!),
      ...(options.audit && { audit: options.audit }),
      ...(options.searches && { searches: options.searches }),
    },
    live: {
      journal: store,
      streams: { attach: (log, wake) => live.attach(log, wake) },
      authenticator,
      clock,
    },
    logger,
    settings: () => settings,
    ...(options.limits && { limits: options.limits }),
    ...(options.pool && { pool: options.pool }),
    reuseBytes: options.reuseBytes ?? 0,
  };
  const remote = options.mutationsOverPort === true ? mutationsOverPort(home) : null;
  const graphql = new Graphql(remote === null ? home : { ...home, ...remote.options });
  const { perPersonMax = 256, pingMs, bodyMax } = options;
  const { room = new OwnStreamRoom(perPersonMax) } = options;
  const common = { clock, logger, room, perPersonMax };
  const streams = new GraphqlStreams({ ...common, ...(pingMs !== undefined && { pingMs }) });
  const callers = new Callers({
    authenticator,
    renewal: authenticator,
    publicUrl: () => ({ url: settings.publicUrl, configured: true }),
  });
  const sockets = new GraphqlSockets({
    ...{ ...common, graphql, callers, authenticator },
    ...options.sockets,
  });
  const routes = graphqlRoutes({
    graphql,
    callers,
    streams,
    logger,
    ...(bodyMax !== undefined && { bodyMax }),
  });
  const gateway = await startGateway(routes, { webSockets: [sockets.route], ...options.gateway });
  gateway.gateway.onDrain(() => sockets.drain());
  const url = `${gateway.url}/api/graphql`;
  let made = 0;
  return {
    url,
    fixture,
    gateway,
    graphql,
    streams,
    sockets,
    ...live,
    cookie(userId) {
      const token = fixture.accounts.addSession(`ses_${userId}_${made++}`, userId);
      return `service.session_token=${sealSessionCookie(token, secret)}`;
    },
    token: (userId = 'usr_ann') =>
      fixture.accounts.addToken(`tok_${made++}`, userId, 'team_a', { allTeams: true }).secret,
    post: (body, headers = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async close() {
      streams.drain();
      await gateway.close();
      await graphql.close();
      await remote?.close();
      authenticator.close();
      await fixture.close();
    },
  };
}

/** What a thread without actors has in place of them. */
function mutationsOverPort(home: GraphqlOptions) {
  const { port1, port2 } = new MessageChannel();
  const calls = new PortCalls(port1, home);
  const graphql = new Graphql(home);
  serveDoor(calls, homeDoors.mutations, homeMutations(graphql));
  const here = (): never => assert.fail('a mutation runs on the thread that was asked');
  const options = {
    write: { actors: { ask: here, tell: here }, accounts: here },
    mutations: remoteMutations(openDoor(new PortCalls(port2, home), homeDoors.mutations)),
  };
  const close = async (): Promise<void> => {
    calls.close();
    await graphql.close();
  };
  return { options, close };
}

function liveFeeds(fixture: GraphqlFixture) {
  const wakes = new Map<LogName, Set<() => void>>();
  const ended = new Set<LogName>();
  const wakeAll = (log: LogName): void => {
    for (const wake of wakes.get(log) ?? []) wake();
  };
  return {
    attach(log: LogName, wake: () => void): StreamView {
      const viewers = wakes.get(log) ?? new Set();
      wakes.set(log, viewers.add(wake));
      return {
        take: (from) => fixture.logs.read(log, from, 1_000),
        get ended() {
          return ended.has(log);
        },
        detach: () => {
          viewers.delete(wake);
        },
      };
    },
    feed(log: LogName, ...lines: string[]) {
      fixture.logs.write(log, ...lines);
      wakeAll(log);
    },
    endFeed(log: LogName) {
      ended.add(log);
      wakeAll(log);
    },
  };
}
