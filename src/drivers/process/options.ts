/** Owns what a driver of processes is made with. */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { EdgeAddress } from '../../protocol/runner-messages.ts';

export interface ProcessDriverOptions {
  /** Absolute. */
  dataDir: string;
  /** Where apps are reached; null for a driver without an edge. */
  edge: EdgeAddress | null;
  logger: Logger;
  /** 32 bytes: what the runner encrypts the variables of workloads with on disk. */
  runnerKey: Uint8Array;
  clock?: Clock;
  /** Over all attempts of one request, apart from `stop`, `remove` and `follow`. Default 20 s. */
  requestTimeoutMs?: number;
  /** Starts a runner for the data directory; for tests. */
  launch?: (dataDir: string, runnerKey: Uint8Array) => void;
}
