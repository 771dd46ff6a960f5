/**
 * Owns the list of doors between the gateway threads and home, the thread of everything that there is
 * once: the store's writer, the actors, the consoles.
 */
import type { Actors } from '../actors/runtime/actor.ts';
import type { ConsoleDoor } from '../consoles/console-door.ts';
import type { MetricFamily } from '../gateway/metrics-text.ts';
import type { ReadCounter } from '../mcp/reads.ts';
import type { HomeRoutes, RequestBodies } from './forwarded-routes.ts';
import type { LogMove, UnwatchLog, WatchLog } from './log-watches.ts';
import { door } from './remote-door.ts';
import type { HomeMutations } from './remote-mutations.ts';
import type { StreamPlaces, ThreadStreams } from './stream-ledger.ts';

interface Home {
  /** Takes whole lines of the log. */
  log(lines: string): void;
  placeAnswers(serverId: string): Promise<boolean>;
  /** The thread cannot go on, for this reason. */
  lost(reason: string): void;
}

interface WatchedLogs {
  watch(log: WatchLog): void;
  unwatch(log: UnwatchLog): void;
}

/** What home serves. */
export const homeDoors = {
  home: door<Home>('home', { log: 'tell', placeAnswers: 'ask', lost: 'tell' }),
  actors: door<Actors>('actors', { ask: 'ask', tell: 'tell' }),
  mutations: door<HomeMutations>('mutations', { run: 'askUntil' }),
  routes: door<HomeRoutes>('routes', { answer: 'askUntil' }),
  consoles: door<ConsoleDoor>('consoles', {
    open: 'ask',
    admit: 'ask',
    watch: 'watch',
    write: 'ask',
    resize: 'ask',
    close: 'ask',
  }),
  reads: door<ReadCounter>('reads', { note: 'tell' }),
  streams: door<StreamPlaces>('streams', {
    reserve: 'ask',
    release: 'tell',
    closeElsewhere: 'ask',
  }),
  logs: door<WatchedLogs>('logs', { watch: 'tell', unwatch: 'tell' }),
};

interface GatewayThread {
  /** Resolves once it listens; rejects where the address is not available. */
  listen(): Promise<void>;
  /** Ends streams, finishes requests, refuses new ones. */
  drain(): Promise<void>;
  /** Lets go of everything; the thread ends when the port is closed. */
  close(): Promise<void>;
  /** Cuts all connections, so that the process may end at once. */
  abort(): Promise<void>;
  metrics(): Promise<readonly MetricFamily[]>;
  /** There is more in the journal. */
  wake(): void;
}

interface MirroredLogs {
  /** Resolves when the thread took them. */
  moved(moves: readonly LogMove[]): Promise<void>;
}

/** What a gateway thread serves. */
export const threadDoors = {
  thread: door<GatewayThread>('thread', {
    listen: 'ask',
    drain: 'ask',
    close: 'ask',
    abort: 'ask',
    metrics: 'ask',
    wake: 'tell',
  }),
  bodies: door<RequestBodies>('bodies', { read: 'ask' }),
  streams: door<ThreadStreams>('streams', { close: 'ask' }),
  logs: door<MirroredLogs>('logs', { moved: 'ask' }),
};
