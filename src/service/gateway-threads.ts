/**
 * Owns the gateway threads of a serving Gangway. It runs at home: the thread of the store's writer, the
 * actors and every other part that exists once.
 *
 * 1. All threads listen on one port, which no other process has. The system distributes connections among
 *    them.
 * 2. A thread that ends unasked, or cannot continue, ends the process: no other thread would serve its
 *    connections.
 * 3. Connections are cut (`abort`) before the process ends, because a thread that ends with an open gateway
 *    would crash the process.
 */
import { MessageChannel, type MessagePort, SHARE_ENV, Worker } from 'node:worker_threads';
import type { Config } from '../config.ts';
import type { ConsoleDoor } from '../consoles/console-door.ts';
import type { LineSink } from '../gateway/access-log.ts';
import { checkPort } from '../gateway/free-port.ts';
import type { Metrics } from '../gateway/metrics.ts';
import type { Route } from '../gateway/transport.ts';
import { graphqlStreamsMax } from '../gateway/transports/graphql-streams.ts';
import type { Graphql } from '../graphql/graphql.ts';
import { pause, systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { newTallyMemory, type TallyMemory } from '../lib/tally.ts';
import type { ReadCounter } from '../mcp/reads.ts';
import { announceCommits } from '../store/reading/following-store.ts';
import type { FollowerOptions } from '../store/store.ts';
import { homeDoors, threadDoors } from '../threads/doors.ts';
import { homeRoutes, type RouteName } from '../threads/forwarded-routes.ts';
import { LogWatches } from '../threads/log-watches.ts';
import { PortCalls } from '../threads/port-calls.ts';
import { type Door, openDoor, serveDoor } from '../threads/remote-door.ts';
import { homeMutations } from '../threads/remote-mutations.ts';
import type { LimitMemory } from '../threads/shared-limits.ts';
import { StreamLedger } from '../threads/stream-ledger.ts';
import type { Platform } from './platform.ts';

/** What a gateway thread is started with. */
export interface ThreadStart {
  /** Which of them it is, from 0. */
  thread: number;
  port: MessagePort;
  /** The configuration with the shared port, and this thread's part of the other threads. */
  config: Config;
  follower: FollowerOptions;
  /** Counts the open connections of all gateway threads. */
  sockets: SharedArrayBuffer;
  /** The memory of the limits that hold over all threads. */
  limits: LimitMemory;
  /** The memory that counts what is under way, by whose it is. */
  underWay: TallyMemory;
  /** The routes that are answered at home. */
  homeRoutes: readonly RouteName[];
}

const endMs = 5_000;
const abortMs = 500;

export interface GatewayThreadsOptions {
  config: Config;
  logger: Logger;
  /** Takes the lines of the threads' logs. */
  writeLog: LineSink;
  platform: Platform;
  /** Runs the mutations of all threads. */
  graphql: Graphql;
  consoles: ConsoleDoor;
  /** The routes that home answers. Their changes are recorded already. */
  routes: readonly Route[];
  metrics: Metrics;
  /** The memory of the limits that hold over all threads. */
  limits: LimitMemory;
  /** Counts the reads over MCP of all threads. */
  reads: ReadCounter;
  /** Called when a thread has ended unasked. */
  onLost: (error: Error) => void;
}

type DoorOf<D> = D extends Door<infer T> ? T : never;

interface Thread {
  calls: PortCalls;
  door: DoorOf<typeof threadDoors.thread>;
  ended: Promise<void>;
}

export class GatewayThreads {
  readonly #options: GatewayThreadsOptions;
  readonly #streams: StreamLedger;
  readonly #underWay = newTallyMemory();
  readonly #threads: Thread[] = [];
  #phase: 'new' | 'serving' | 'ending' = 'new';

  constructor(options: GatewayThreadsOptions) {
    this.#options = options;
    this.#streams = new StreamLedger({
      logs: options.config.maxLogStreamsPerUser,
      graphql: graphqlStreamsMax,
    });
  }

  /** Starts the threads; resolves once all listen. Rejects with a ListenError. */
  async listen(): Promise<{ port: number }> {
    const { config } = this.#options;
    const port = await checkPort(config.host, config.port);
    const sockets = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const own = { ...config, port, ...partOf(config) };
    for (let i = 0; i < config.gatewayThreads; i++)
      this.#threads.push(this.#start(i, own, sockets));
    this.#phase = 'serving';
    await this.#all('listen');
    return { port };
  }

  async drain(): Promise<void> {
    await this.#all('drain');
  }

  /** Ends the threads. A thread that takes longer than a few seconds ends with the process. */
  async close(): Promise<void> {
    this.#phase = 'ending';
    await this.#all('close');
    for (const { calls } of this.#threads) calls.close();
    await within(endMs, Promise.all(this.#threads.map(({ ended }) => ended)));
  }

  /** Cuts all connections, so that the process may end. */
  async abort(): Promise<void> {
    this.#phase = 'ending';
    await within(abortMs, this.#all('abort'));
  }

  async #all(name: 'listen' | 'drain' | 'close' | 'abort'): Promise<void> {
    await Promise.all(this.#threads.map(({ door }) => door[name]()));
  }

  #start(thread: number, config: Config, sockets: SharedArrayBuffer): Thread {
    const { logger, platform, routes, metrics, limits } = this.#options;
    const { store } = platform;
    const { port1, port2: port } = new MessageChannel();
    const follower = store.admitFollower();
    const underWay = this.#underWay;
    const homeRoutes = routes.map(({ method, path }) => ({ method, path }));
    const shared = { sockets, limits, underWay };
    const start: ThreadStart = { thread, port, config, follower, ...shared, homeRoutes };
    const calls = new PortCalls(port1, { logger });
    this.#serve(calls);
    const door = openDoor(calls, threadDoors.thread);
    metrics.registerRemote(() => door.metrics());
    const silence = announceCommits(store, follower, () => door.wake());
    const worker = new Worker(new URL('./gateway-thread.ts', import.meta.url), {
      workerData: start,
      transferList: [port],
      // The HTTP library reads a limit from the environment.
      env: SHARE_ENV,
    });
    worker.on('error', (error) => this.#lost(error));
    const ended = new Promise<void>((resolve) => {
      worker.on('exit', () => {
        silence();
        calls.close();
        store.dismissFollower(follower);
        this.#lost(new Error('A gateway thread ended.'));
        resolve();
      });
    });
    return { calls, door, ended };
  }

  /** Lets this thread answer what a gateway thread asks of home. */
  #serve(calls: PortCalls): void {
    const { logger, platform, graphql, consoles, routes, metrics, reads } = this.#options;
    const logs = openDoor(calls, threadDoors.logs);
    const watches = new LogWatches({
      streams: platform.streams,
      logger,
      tell: (moves) => logs.moved(moves),
    });
    const forwarded = homeRoutes({
      routes,
      bodies: openDoor(calls, threadDoors.bodies),
      logger,
      refused: (code) => metrics.refused(code),
      dropped: (why) => metrics.dropped(why),
    });
    serveDoor(calls, homeDoors.home, {
      log: this.#options.writeLog,
      placeAnswers: (serverId) => platform.placeAnswers(serverId),
      lost: (reason) => this.#lost(new Error(reason)),
    });
    serveDoor(calls, homeDoors.actors, platform.actors);
    serveDoor(calls, homeDoors.mutations, homeMutations(graphql));
    serveDoor(calls, homeDoors.routes, forwarded);
    serveDoor(calls, homeDoors.consoles, consoles);
    serveDoor(calls, homeDoors.reads, reads);
    const streams = this.#streams.join(openDoor(calls, threadDoors.streams));
    serveDoor(calls, homeDoors.streams, streams);
    serveDoor(calls, homeDoors.logs, watches);
    calls.onClose(() => watches.close());
  }

  #lost(error: unknown): void {
    if (this.#phase === 'ending') return;
    this.#phase = 'ending';
    this.#options.onLost(error instanceof Error ? error : new Error(String(error)));
  }
}

/** A gateway thread's part of the query and bulk threads; at least one of each. */
function partOf(config: Config): Pick<Config, 'queryThreads' | 'bulkThreads'> {
  const part = (threads: number): number =>
    Math.max(1, Math.floor(threads / config.gatewayThreads));
  return { queryThreads: part(config.queryThreads), bulkThreads: part(config.bulkThreads) };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => undefined), pause(systemClock, ms)]);
}
