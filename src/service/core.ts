/**
 * Owns what every serving thread knows of callers: their identity, what the activity records, and the
 * address under which people reach the panel.
 */
import {
  type AccountReads,
  createAccountReads,
  needsSetup,
} from '../auth/callers/account-reads.ts';
import { Audit } from '../auth/audit.ts';
import { rightsTables } from '../auth/rights/authorize.ts';
import { type ClosableAuthenticator, createAuthenticator } from '../auth/callers/authenticator.ts';
import type { Actors } from '../actors/runtime/actor.ts';
import type { WatchedLogs } from '../logs/live/channel.ts';
import { addressOf, type Config } from '../config.ts';
import { Callers, type PublicUrl } from '../gateway/credentials.ts';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type Limit, RateLimit, type RateLimitOptions } from '../lib/rate-limit.ts';
import type { Platform } from './platform.ts';
import type { Journal, Reader } from '../store/reader-and-journal.ts';
import type { Store } from '../store/store.ts';
import { tables } from '../store/records/tables.ts';
import type { BulkPool } from '../archives/receiving/bulk-pool.ts';

const failedTokensPerMinute = 60;

/** What lies below a serving thread: the platform, or its replacement on a gateway thread. */
export interface Ground extends Pick<Platform, 'secrets' | 'causes' | 'folders'> {
  store: Reader & Pick<Journal, 'subscribe'> & Pick<Store, 'readerOptions'>;
  actors: Actors;
  streams: WatchedLogs;
  /** Whether the place that runs apps and databases answers within two seconds. */
  placeAnswers(serverId: string): Promise<boolean>;
  bulk: Pick<BulkPool, 'receive' | 'send'>;
}

/** Makes a limit that holds over all serving threads together; threads share limits by `name`. */
export type NewLimit = (name: string, options: RateLimitOptions) => Limit;

export interface CoreOptions {
  config: Config;
  logger: Logger;
  ground: Ground;
  newLimit?: NewLimit;
}

export class Core {
  readonly config: Config;
  readonly logger: Logger;
  readonly ground: Ground;
  readonly newLimit: NewLimit;
  readonly authenticator: ClosableAuthenticator;
  readonly accountReads: AccountReads;
  readonly audit: Audit;
  readonly callers: Callers;
  /** The key that signs session cookies. */
  readonly secret: string;
  /** The port of the gateway. Until the gateway listens, this is the configured port. */
  port: number;

  constructor({ config, logger, ground, newLimit }: CoreOptions) {
    this.config = config;
    this.logger = logger;
    this.ground = ground;
    this.newLimit = newLimit ?? ((_, options) => new RateLimit(options));
    this.port = config.port;
    this.secret = ground.secrets.derive('session-cookie').toString('base64url');
    const { store, actors, causes } = ground;
    const common = { reader: store, actors, clock: systemClock, log: logger };
    this.accountReads = createAccountReads(store);
    this.authenticator = createAuthenticator({
      ...common,
      subscribe: (listener) => store.subscribe(listener),
      secret: this.secret,
    });
    this.audit = new Audit({ ...common, causes });
    this.callers = new Callers({
      authenticator: this.authenticator,
      renewal: this.authenticator,
      publicUrl: () => this.#address(),
      failures: this.newLimit('failed-tokens', { burst: failedTokensPerMinute, windowMs: 60_000 }),
      onCaller: (principal) => this.audit.identify(principal),
    });
  }

  /** The address where people reach the panel. It is final once the gateway listens. */
  readonly publicUrl = (): string => this.#address().url;

  readonly needsSetup = (): boolean => needsSetup(this.ground.store);

  /** Calls back after each change that may give or take rights; the returned function ends it. */
  readonly onRightsChange = (callback: () => void): (() => void) =>
    this.ground.store.subscribe(({ changes }) => {
      if (changes.some(({ table }) => rightsTables.has(table))) callback();
    });

  #address(): PublicUrl {
    const { config, ground, port } = this;
    const stored = ground.store.get(tables.instance, 'instance')?.publicUrl ?? null;
    const url = stored ?? config.publicUrl;
    if (url !== null) return { url, configured: true };
    return { url: addressOf(config.host, port), configured: false };
  }
}
