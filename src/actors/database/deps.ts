/** Owns what the database actor is given: the parts it works with and the bounds it keeps. */
import type { DatabaseEngine } from '../../store/records/records.ts';
import { type Bounds, trashMs, type WorkloadDeps, type WorkloadOptions } from '../workload/deps.ts';
import type { Engine, HostTools } from './engines/engine.ts';

export interface DatabaseOptions extends WorkloadOptions, Bounds<typeof databaseDefaults> {
  /** `<root>/<database id>/…`; apps lie there as well, each by its id. */
  root: string;
  /** A uid that has a name on this machine; null: that of this process. */
  namedUid: number | null;
  tools: HostTools;
  /** Instead of an engine's own images; `{version}` stands for the version. */
  images: Readonly<Partial<Record<DatabaseEngine, string>>>;
}

export const databaseDefaults = {
  initTimeoutMs: 10 * 60_000,
  /** For one image. */
  pullTimeoutMs: 30 * 60_000,
  /** Until it answers. */
  healthTimeoutMs: 60_000,
  /** Until the first start of an image listens. */
  makingTimeoutMs: 5 * 60_000,
  /** Until it answers while it says that it is about to, such as behind a crash. */
  startingTimeoutMs: 30 * 60_000,
  /** For a password that may be in it, while somebody waits to be shown the one that is. */
  settleTimeoutMs: 5000,
  // What it has in memory has to reach the disk.
  stopGraceMs: 60_000,
  trashMs,
} as const;

export interface DatabaseDeps extends WorkloadDeps {
  options: DatabaseOptions;
  engines: Readonly<Record<DatabaseEngine, Engine>>;
}
