/** Owns what the database actor is given: the parts it works with and the bounds it keeps. */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Driver } from '../../drivers/driver.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DatabaseEngine, DatabaseRecord } from '../../store/records/records.ts';
import type { SecretBox } from '../app/deps.ts';
import type { FreeUids } from '../workload/free-uids.ts';
import type { LogStreams } from '../../logs/live/log-streams.ts';
import type { Engine, HostTools } from './engines/engine.ts';

export interface DatabaseOptions {
  /** `<root>/<database id>/…`; apps lie there as well, each by its id. */
  root: string;
  /** Own uids for databases, both ends included; null where the process may not change its uid. */
  uids: { first: number; last: number } | null;
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
  stopGraceMs: number;
  trashMs: number;
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
  trashMs: 7 * 24 * 3_600_000,
} as const;

export interface DatabaseDeps {
  reader: Reader;
  driver: Driver;
  streams: LogStreams;
  secrets: SecretBox;
  clock: Clock;
  logger: Logger;
  options: DatabaseOptions;
  engines: Readonly<Record<DatabaseEngine, Engine>>;
}

/** What all database actors of a process share besides. */
export interface DatabaseParts extends DatabaseDeps {
  uids: FreeUids<DatabaseRecord>;
}
