/** Owns the dependencies that the actors of apps and of databases share. */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogStreams } from '../../logs/live/log-streams.ts';
import type { Place } from '../../places/place.ts';
import type { RestoreDeps } from '../restore/deps.ts';
import type { Reader } from '../../store/reader-and-journal.ts';

export interface SecretBox {
  /** `context` binds the value to its place: opening it elsewhere fails. */
  seal(plain: string, context: string): Uint8Array;
  open(sealed: Uint8Array, context: string): string;
}

/** Options that are numbers, by their defaults. */
export type Bounds<T> = { -readonly [K in keyof T]: number };

export interface WorkloadOptions {
  /** The time between SIGTERM and SIGKILL. */
  stopGraceMs: number;
  /** How long trash is kept before it is removed for ever. */
  trashMs: number;
}

export const trashMs = 7 * 24 * 3_600_000;

export interface WorkloadDeps {
  reader: Reader;
  /** Where it runs. */
  place: Place;
  /** That of the place. */
  driver: Place['driver'];
  streams: LogStreams;
  secrets: SecretBox;
  clock: Clock;
  logger: Logger;
  restores: RestoreDeps;
  options: WorkloadOptions;
}
