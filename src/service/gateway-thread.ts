/**
 * Owns a gateway thread: a gateway with the transports that are fast or stay open. It reads the store by
 * itself; what changes something, and what is there once, it asks of the home thread over one port.
 *
 * 1. It serves nothing that home, by then, would not serve: before each request it catches up with the
 *    journal, so that a revoked token is dead on every thread at once.
 * 2. A thread that cannot go on says so: home ends the process.
 */
import { workerData } from 'node:worker_threads';
import { RemoteConsoles } from '../threads/remote-consoles.ts';
import { Causes } from '../actors/runtime/causes.ts';
import { RemoteActors } from '../threads/remote-actors.ts';
import { answerStreams, RemotePlaces, RemoteStreamRoom } from '../logs/viewers/stream-room.ts';
import { MirroredLogs } from '../threads/mirrored-logs.ts';
import type { Config } from '../config.ts';
import { dataFolders } from './data-folders.ts';
import type { LineSink } from '../gateway/access-log.ts';
import { forwardedRoutes } from '../threads/forwarded-routes.ts';
import { Metrics } from '../gateway/metrics.ts';
import { RemoteMutations } from '../threads/remote-mutations.ts';
import { systemClock } from '../lib/clock.ts';
import { LastResort } from './uncaught-errors.ts';
import { collectWhenIdle } from './idle-collection.ts';
import type { Logger } from '../lib/log.ts';
import { openPortCalls, type PortCalls } from '../lib/port-calls.ts';
import { ThreadTally } from '../lib/tally.ts';
import { ThreadLimits } from '../threads/shared-limits.ts';
import { RemoteReads } from '../threads/remote-reads.ts';
import { Core } from './core.ts';
import { Front } from './front.ts';
import { serveGraphql } from './graphql.ts';
import { newLogger, wantsAccessLines } from './log-output.ts';
import type { HomeCalls, ThreadCalls, ThreadStart } from './gateway-thread-calls.ts';
import { type FollowingStore, openFollowingStore } from '../store/reading/following-store.ts';
import { openLogReader } from '../logs/files/reader.ts';
import { openSecretBox } from '../store/secrets.ts';
import { BulkPool } from '../archives/receiving/bulk-pool.ts';

serveThread(workerData as ThreadStart);

function serveThread(start: ThreadStart): void {
  const { config, port, follower, sockets, limits, mcpCalls, homeRoutes } = start;
  const write: LineSink = (lines) => {
    home.tell('log', lines);
  };
  const logger = newLogger(config, { write });
  const home = openPortCalls<HomeCalls, ThreadCalls>(port, { logger });
  const onLost = ({ message }: Error): void => {
    home.tell('lost', message);
  };
  const store = openFollowingStore(follower, { logger, onLost });
  const ground = groundOf({ config, logger, home, store });
  const core = new Core({ config, logger, ground, newLimit: new ThreadLimits(limits).newLimit });
  const metrics = new Metrics();
  const lastResort = new LastResort(logger);
  metrics.register(() => lastResort.families());
  const graphql = serveGraphql(core, {
    accounts: () => Promise.reject(new Error('Cannot sign in here: accounts are at home')),
    queryThreads: config.queryThreads,
    mutations: new RemoteMutations(home),
  });
  const front = new Front({
    core,
    graphql,
    consoles: new RemoteConsoles(home),
    metrics,
    accessLines: wantsAccessLines(config) ? write : null,
    routes: forwardedRoutes({ routes: homeRoutes, home }),
    shared: {
      port: {
        sockets: new Int32Array(sockets),
        beforeRequest: () => {
          store.catchUp();
        },
      },
      logStreams: new RemoteStreamRoom(home),
      graphqlStreams: new RemotePlaces(home, 'graphql'),
      mcpCalls: new ThreadTally(mcpCalls),
    },
    reads: new RemoteReads({ home, clock: systemClock, log: logger }),
  });
  answerStreams(home, { close: (sessionId, userId) => front.closeStream(sessionId, userId) });
  home.handle('wake', () => {
    store.wake();
  });
  home.handle('log.moved', (moves) => {
    ground.streams.moved(moves);
  });
  home.handle('metrics', () => metrics.families());
  home.handle('listen', async () => {
    await front.listen();
    lastResort.listen();
    collectWhenIdle({ clock: systemClock });
  });
  home.handle('drain', () => front.drain());
  home.handle('abort', () => front.abort());
  home.handle('close', async () => {
    await graphql.close();
    core.authenticator.close();
    await front.close();
    await ground.bulk.close();
    await store.close();
  });
}

interface Parts {
  config: Config;
  logger: Logger;
  home: PortCalls<HomeCalls, ThreadCalls>;
  store: FollowingStore;
}

/** What stands here for what home has. */
function groundOf({ config, logger, home, store }: Parts) {
  const folders = dataFolders(config.dataDir);
  const key = config.instanceKey === null ? {} : { key: config.instanceKey };
  const causes = new Causes();
  return {
    store,
    folders,
    causes,
    secrets: openSecretBox({ dir: config.dataDir, ...key }),
    placeAnswers: () => home.ask('place.answers', null),
    actors: new RemoteActors({ home, causes, clock: systemClock }),
    streams: new MirroredLogs({
      reader: openLogReader({ dir: folders.logs, reader: store }),
      logger,
      watch: (message) => {
        home.tell('log.watch', message);
      },
      unwatch: (message) => {
        home.tell('log.unwatch', message);
      },
    }),
    bulk: new BulkPool({
      temporaryDir: folders.arrivingUploads,
      logger,
      clock: systemClock,
      lanes: config.bulkThreads,
    }),
  };
}
