/** Owns what the app actor is given: the parts it works with and the bounds it keeps. */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Driver } from '../../drivers/driver.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord } from '../../store/records/records.ts';
import type { Extractor } from '../../archives/extracting/extractor.ts';
import type { BuildQueue } from './deploying/build-queue.ts';
import type { BaseImages } from './build/plan.ts';
import type { LogStreams } from '../../logs/live/log-streams.ts';
import type { FreeUids } from '../workload/free-uids.ts';
import type { Check } from './running/health.ts';

/** The one server of an instance without remote servers. */
export const localServerId = 'srv_local';

export interface SecretBox {
  /** `context` binds the value to its place: opening it elsewhere fails. */
  seal(plain: string, context: string): Uint8Array;
  open(sealed: Uint8Array, context: string): string;
}

export interface Toolchain {
  /** Folders that come first in PATH: those of node and npm, then the host's. */
  path: readonly string[];
  /** The node program, and the file that serves static releases: `<node> <file> <folder>`. */
  node: string;
  staticServer: string;
  /** Such as `22.23.3`. */
  nodeVersion: string;
}

/** What images are built with, on a driver of containers. */
export interface ContainerOptions {
  images: BaseImages;
  /** Whether `images.node` is what it is without a word of the operator: then an app may choose its version. */
  isDefaultNode: boolean;
  /** The program that serves static releases, as text. */
  staticServer: () => Promise<string>;
}

export interface AppOptions {
  /** `<appsRoot>/<app id>/{releases,data,home}`; owned by the app actors alone. */
  appsRoot: string;
  /** `<uploadsRoot>/<app id>/<blob>`; no app may reach it. */
  uploadsRoot: string;
  /** Own uids for apps, both ends included; null where the process may not change its uid. */
  uids: { first: number; last: number } | null;
  toolchain: Toolchain;
  containers: ContainerOptions;
  /** Passed to builds only: proxies, certificate files, registries. */
  buildEnv: Readonly<Record<string, string>>;
  /** The host name the edge knows an app by, and the address people open. */
  hostOf: (slug: string) => string;
  urlOf: (slug: string) => string;
  extractTimeoutMs: number;
  buildTimeoutMs: number;
  healthTimeoutMs: number;
  drainMs: number;
  stopGraceMs: number;
  /** Releases kept on disk for a rollback. */
  releasesKept: number;
  /** Finished deployments kept in the history of an app, with their build logs. */
  deploymentsKept: number;
  trashMs: number;
}

export const appDefaults = {
  extractTimeoutMs: 10 * 60_000,
  buildTimeoutMs: 30 * 60_000,
  healthTimeoutMs: 60_000,
  drainMs: 10_000,
  stopGraceMs: 10_000,
  releasesKept: 3,
  deploymentsKept: 200,
  trashMs: 7 * 24 * 3_600_000,
} as const;

/** What all app actors of a process share besides. */
export interface AppParts extends AppDeps {
  uids: FreeUids<AppRecord>;
}

export interface AppDeps {
  reader: Reader;
  driver: Driver;
  streams: LogStreams;
  extractor: Extractor;
  secrets: SecretBox;
  buildQueue: BuildQueue;
  clock: Clock;
  logger: Logger;
  options: AppOptions;
  /** Asks an instance whether it is well; a test brings its own. */
  check?: Check;
}
