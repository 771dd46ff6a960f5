/** Owns what the home thread and a gateway thread say to each other; all of it is plain data. */
import type { MessagePort } from 'node:worker_threads';
import type { ConsoleCalls, ConsoleThreadCalls } from '../threads/remote-consoles.ts';
import type { ActorCalls } from '../threads/remote-actors.ts';
import type { StreamCalls, StreamThreadCalls } from '../logs/viewers/stream-room.ts';
import type { LogMove, UnwatchLog, WatchLog } from '../threads/log-watches.ts';
import type { Config } from '../config.ts';
import type { ForwardBodyCalls, ForwardCalls, RouteName } from '../threads/forwarded-routes.ts';
import type { MetricFamily } from '../gateway/metrics-text.ts';
import type { MutationCalls } from '../threads/remote-mutations.ts';
import type { TallyMemory } from '../lib/tally.ts';
import type { LimitMemory } from '../threads/shared-limits.ts';
import type { ReadCalls } from '../threads/remote-reads.ts';
import type { FollowerOptions } from '../store/store.ts';

/** What a gateway thread is started with. */
export interface ThreadStart {
  port: MessagePort;
  /** With the port that all threads share, and this one's part of other threads. */
  config: Config;
  follower: FollowerOptions;
  /** Counts open connections of all gateway threads. */
  sockets: SharedArrayBuffer;
  /** Of the limits that hold over all threads. */
  limits: LimitMemory;
  /** Of calls of tools under way, by token. */
  mcpCalls: TallyMemory;
  /** What is answered at home. */
  homeRoutes: readonly RouteName[];
}

/** What a gateway thread asks of home. */
export type HomeCalls = ActorCalls &
  ForwardCalls &
  MutationCalls &
  StreamCalls &
  ConsoleCalls &
  ReadCalls & {
    /** Whole lines of the log. */
    log: { in: string; out: void };
    'place.answers': { in: null; out: boolean };
    /** It cannot go on, for this reason. */
    lost: { in: string; out: void };
    'log.watch': { in: WatchLog; out: void };
    'log.unwatch': { in: UnwatchLog; out: void };
  };

/** What home asks of a gateway thread. */
export type ThreadCalls = ForwardBodyCalls &
  StreamThreadCalls &
  ConsoleThreadCalls & {
    /** Resolves once it listens; rejects where the address cannot be had. */
    listen: { in: null; out: void };
    /** Ends streams, finishes requests, refuses new ones. */
    drain: { in: null; out: void };
    /** Lets go of everything; the thread ends when the port is closed. */
    close: { in: null; out: void };
    /** Cuts all connections, so that the process may end at once. */
    abort: { in: null; out: void };
    metrics: { in: null; out: readonly MetricFamily[] };
    /** There is more in the journal. */
    wake: { in: null; out: void };
    'log.moved': { in: readonly LogMove[]; out: void };
  };
