/** Owns the dependencies that the actors of apps and of databases share. */
import type { Driver } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogStreams } from '../../logs/live/log-streams.ts';
import type { RestoreDeps } from '../restore/deps.ts';
import type { Reader } from '../../store/reader-and-journal.ts';

/** The one server of an instance without remote servers. */
export const localServerId = 'srv_local';

export interface SecretBox {
  /** `context` binds the value to its place: opening it elsewhere fails. */
  seal(plain: string, context: string): Uint8Array;
  open(sealed: Uint8Array, context: string): string;
}

/** Both ends included. */
export interface UidRange {
  first: number;
  last: number;
}

/** Options that are numbers, by their defaults. */
export type Bounds<T> = { -readonly [K in keyof T]: number };

export interface WorkloadOptions {
  /** Own uids; null when the process may not change its uid. */
  uids: UidRange | null;
  /** The time between SIGTERM and SIGKILL. */
  stopGraceMs: number;
  /** How long trash is kept before it is removed for ever. */
  trashMs: number;
}

export const trashMs = 7 * 24 * 3_600_000;

export interface WorkloadDeps {
  reader: Reader;
  driver: Driver;
  streams: LogStreams;
  secrets: SecretBox;
  clock: Clock;
  logger: Logger;
  restores: RestoreDeps;
  options: WorkloadOptions;
}
