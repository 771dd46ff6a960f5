/** Owns what the database actor is given: the parts it works with and the bounds it keeps. */
import type { DatabaseEngine, DatabaseRecord } from '../../store/records/records.ts';
import type { WorkloadDeps, WorkloadOptions } from '../workload/deps.ts';
import { trashMs } from '../workload/deps.ts';
import type { FreeUids } from '../workload/free-uids.ts';
import type { Engine, HostTools } from './engines/engine.ts';

export interface DatabaseOptions extends WorkloadOptions {
  /** `<root>/<database id>/…`; apps lie there as well, each by its id. */
  root: string;
  /** A uid that has a name on this machine; null: that of this process. */
  namedUid: number | null;
  tools: HostTools;
  /** Instead of an engine's own images; `{version}` stands for the version. */
  images: Readonly<Partial<Record<DatabaseEngine, string>>>;
  initTimeoutMs: number;
  /** For one image. */
  pullTimeoutMs: number;
  /** Until it answers. */
  healthTimeoutMs: number;
  /** Until the first start of an image listens. */
  makingTimeoutMs: number;
  /** Until it answers while it says that it is about to, such as behind a crash. */
  startingTimeoutMs: number;
  /** For a password that may be in it, while somebody waits to be shown the one that is. */
  settleTimeoutMs: number;
}

export const databaseDefaults = {
  initTimeoutMs: 10 * 60_000,
  pullTimeoutMs: 30 * 60_000,
  healthTimeoutMs: 60_000,
  makingTimeoutMs: 5 * 60_000,
  startingTimeoutMs: 30 * 60_000,
  settleTimeoutMs: 5000,
  // What it has in memory has to reach the disk.
  stopGraceMs: 60_000,
  trashMs,
} as const;

export interface DatabaseDeps extends WorkloadDeps {
  options: DatabaseOptions;
  engines: Readonly<Record<DatabaseEngine, Engine>>;
}

/** What all database actors of a process share besides. */
export interface DatabaseParts extends DatabaseDeps {
  uids: FreeUids<DatabaseRecord>;
}
