/** Owns what the definitions of actors are made of. */
import type { BulkPool } from '../archives/receiving/bulk-pool.ts';
import type { Config } from '../config.ts';
import type { Driver } from '../drivers/driver.ts';
import type { AppsRoot } from '../drivers/process/apps-root.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { LiveLogs } from '../logs/live/live-logs.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { SecretBox } from '../store/secrets.ts';
import type { DataFolders } from './data-folders.ts';

/** What actors may be given. */
export interface ActorParts {
  config: Config;
  reader: Reader;
  clock: Clock;
  logger: Logger;
  driver: Driver;
  streams: LiveLogs;
  secrets: SecretBox;
  bulk: BulkPool;
  folders: DataFolders;
  appsRoot: AppsRoot;
  /** Makes the tools ready that programs of the machine need. */
  prepareTools: () => Promise<void>;
}

/** Where programs of the machine lie. */
export const programFolders = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
];
