/** Owns the dependencies and limits of the database actor. */
import type { DatabaseEngine } from '../../store/records/records.ts';
import { type Bounds, trashMs, type WorkloadDeps, type WorkloadOptions } from '../workload/deps.ts';
import type { Engine } from './engines/engine.ts';

export interface DatabaseOptions extends WorkloadOptions, Bounds<typeof databaseDefaults> {
  /** Replaces an engine's own images; `{version}` stands for the version. */
  images: Readonly<Partial<Record<DatabaseEngine, string>>>;
}

export const databaseDefaults = {
  initTimeoutMs: 10 * 60_000,
  /** For one image. */
  pullTimeoutMs: 30 * 60_000,
  /** How long a server may take to answer. */
  healthTimeoutMs: 60_000,
  /** How long the first start of an image may take to listen. */
  makingTimeoutMs: 5 * 60_000,
  /** How long a server may take that reports that it is starting, such as after a crash. */
  startingTimeoutMs: 30 * 60_000,
  /** How long a caller waits until it is known whether the server took a new password. */
  settleTimeoutMs: 5000,
  // The server has to write its memory to the disk.
  stopGraceMs: 60_000,
  trashMs,
} as const;

export interface DatabaseDeps extends WorkloadDeps {
  options: DatabaseOptions;
  engines: Readonly<Record<DatabaseEngine, Engine>>;
}
