/**
 * Owns a gateway thread: a gateway with the transports that are fast or stay open. The thread reads the
 * store by itself. Changes, and parts that exist once, are at home; it reaches them through doors.
 *
 * 1. Before each request the thread catches up with the journal, so that a revoked token is dead on every
 *    thread at once.
 * 2. A thread that cannot continue reports to home, which ends the process.
 */
import { workerData } from 'node:worker_threads';
import { Causes } from '../actors/runtime/causes.ts';
import { BulkPool } from '../archives/receiving/bulk-pool.ts';
import type { Config } from '../config.ts';
import type { LineSink } from '../gateway/access-log.ts';
import { Metrics } from '../gateway/metrics.ts';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { ThreadTally } from '../lib/tally.ts';
import { LogFiles } from '../logs/files/reader.ts';
import { type FollowingStore, openFollowingStore } from '../store/reading/following-store.ts';
import { openSecretBox } from '../store/secrets.ts';
import { homeDoors, threadDoors } from '../threads/doors.ts';
import { forwardedRoutes } from '../threads/forwarded-routes.ts';
import { MirroredLogs } from '../threads/mirrored-logs.ts';
import { PortCalls } from '../threads/port-calls.ts';
import { RemoteActors } from '../threads/remote-actors.ts';
import { openDoor, serveDoor } from '../threads/remote-door.ts';
import { remoteMutations } from '../threads/remote-mutations.ts';
import { ThreadLimits } from '../threads/shared-limits.ts';
import { sharedRooms } from '../threads/stream-ledger.ts';
import { Core } from './core.ts';
import { dataFolders } from './data-folders.ts';
import { Front, type SharedFront } from './front.ts';
import type { ThreadStart } from './gateway-threads.ts';
import { serveGraphql } from './graphql.ts';
import { collectWhenIdle } from './idle-collection.ts';
import { newLogger, wantsAccessLines } from './log-output.ts';
import { LastResort } from './uncaught-errors.ts';

serveThread(workerData as ThreadStart);

function serveThread(start: ThreadStart): void {
  const { config, port, follower, limits } = start;
  const write: LineSink = (lines) => home.log(lines);
  const logger = newLogger(config, { write });
  const calls = new PortCalls(port, { logger });
  const home = openDoor(calls, homeDoors.home);
  const onLost = ({ message }: Error): void => home.lost(message);
  const store = openFollowingStore(follower, { logger, onLost });
  const placeAnswers = (serverId: string): Promise<boolean> => home.placeAnswers(serverId);
  const ground = { ...groundOf({ config, logger, calls, store }), placeAnswers };
  const core = new Core({ config, logger, ground, newLimit: new ThreadLimits(limits).newLimit });
  const metrics = new Metrics();
  const lastResort = new LastResort(logger);
  metrics.register(() => lastResort.families());
  const graphql = serveGraphql(core, {
    accounts: () => Promise.reject(new Error('Cannot sign in here: accounts are at home')),
    queryThreads: config.queryThreads,
    mutations: remoteMutations(openDoor(calls, homeDoors.mutations)),
  });
  const forwarded = forwardedRoutes({
    routes: start.homeRoutes,
    home: openDoor(calls, homeDoors.routes),
  });
  const front = new Front({
    core,
    graphql,
    consoles: openDoor(calls, homeDoors.consoles),
    metrics,
    accessLines: wantsAccessLines(config) ? write : null,
    routes: forwarded.routes,
    shared: sharedFront(start, calls, store),
    reads: openDoor(calls, homeDoors.reads),
  });
  serveDoor(calls, threadDoors.bodies, forwarded.bodies);
  serveDoor(calls, threadDoors.streams, {
    close: ({ sessionId, userId }) => front.closeStream(sessionId, userId),
  });
  serveDoor(calls, threadDoors.logs, {
    moved: (moves) => ground.streams.moved(moves),
  });
  serveDoor(calls, threadDoors.thread, {
    wake: () => store.wake(),
    metrics: () => metrics.families(),
    listen: async () => {
      await front.listen();
      lastResort.listen();
      collectWhenIdle({ clock: systemClock });
    },
    drain: () => front.drain(),
    abort: () => front.abort(),
    close: async () => {
      await graphql.close();
      core.authenticator.close();
      await front.close();
      await ground.bulk.close();
      await store.close();
    },
  });
}

interface Parts {
  config: Config;
  logger: Logger;
  calls: PortCalls;
  store: FollowingStore;
}

/** What the gateways of all threads share. */
function sharedFront(
  { config, thread, sockets, underWay }: ThreadStart,
  calls: PortCalls,
  store: FollowingStore,
): SharedFront {
  const rooms = sharedRooms(openDoor(calls, homeDoors.streams));
  return {
    thread,
    port: {
      sockets: new Int32Array(sockets),
      threads: config.gatewayThreads,
      beforeRequest: () => store.catchUp(),
    },
    logStreams: rooms.logs,
    graphqlStreams: rooms.graphql,
    underWay: new ThreadTally(underWay),
  };
}

/** The replacement of the platform on this thread. */
function groundOf({ config, logger, calls, store }: Parts) {
  const logs = openDoor(calls, homeDoors.logs);
  const folders = dataFolders(config.dataDir);
  const key = config.instanceKey === null ? {} : { key: config.instanceKey };
  const causes = new Causes();
  return {
    store,
    folders,
    causes,
    secrets: openSecretBox({ dir: config.dataDir, ...key }),
    actors: new RemoteActors({
      home: openDoor(calls, homeDoors.actors),
      causes,
      clock: systemClock,
    }),
    streams: new MirroredLogs({
      reader: new LogFiles(folders.logs),
      logger,
      watch: (message) => logs.watch(message),
      unwatch: (message) => logs.unwatch(message),
    }),
    bulk: new BulkPool({
      temporaryDir: folders.arrivingUploads,
      logger,
      clock: systemClock,
      lanes: config.bulkThreads,
    }),
  };
}
