/**
 * Owns GraphQL as the rest of the program sees it. Nothing heavy is imported before `load`: the
 * schema, graphql-js, the compiler and the pool come with the first request.
 */
import type { Actors } from '../actors/runtime/contract.ts';
import type { LogStreams } from '../actors/streams/contract.ts';
import type { AccountReads, Accounts, Authenticator } from '../auth/accounts-contract.ts';
import type { Audit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Journal, Reader } from '../store/contract.ts';
import type { LogReader } from '../store/logs/contract.ts';
import { defaultLimits, type GraphqlLimits, type GraphqlSettings } from './contract.ts';
import type { Variables } from './engine.ts';
import type { GraphqlAnswer, Lanes, QueryLane } from './lanes.ts';
import { LiveHub } from './live.ts';

export interface GraphqlOptions {
  reader: Reader;
  logs: LogReader;
  accountReads: AccountReads;
  accounts: () => Promise<Accounts>;
  actors: Actors;
  journal: Pick<Journal, 'subscribe'>;
  streams: Pick<LogStreams, 'attach'>;
  authenticator: Pick<Authenticator, 'stillValid'>;
  clock: Clock;
  logger: Logger;
  /** Records mutations. */
  audit?: Pick<Audit, 'during'>;
  /** Asked once, at `load`, so that ports picked by the system are known. */
  settings: () => GraphqlSettings;
  limits?: Partial<GraphqlLimits>;
  /** Makes the pool when it is first needed; without it everything runs on this thread. */
  pool?: (settings: GraphqlSettings, limits: GraphqlLimits) => Promise<QueryLane>;
  /** Bytes of answers that may be given again as they are; default 8 MiB, 0 for none. */
  reuseBytes?: number;
}

export interface Graphql {
  readonly limits: GraphqlLimits;
  /** Loads what is heavy, once; also a warm-up after start. */
  load(): Promise<Lanes>;
  /** What `load` gave, when it has; saves a turn of the loop for every request after the first. */
  readonly loaded: Lanes | null;
  /** Runs a document from within, as a principal; `body` is the JSON of the answer. */
  execute(
    query: string,
    variables: Variables,
    principal: Principal,
    options?: { operationName?: string; signal?: AbortSignal },
  ): Promise<GraphqlAnswer>;
  close(): Promise<void>;
}

export function createGraphql(options: GraphqlOptions): Graphql {
  return new LazyGraphql(options);
}

class LazyGraphql implements Graphql {
  readonly limits: GraphqlLimits;
  readonly #options: GraphqlOptions;
  readonly #live: LiveHub;
  #lanes: Lanes | null = null;
  #loading: Promise<Lanes> | null = null;
  #closed = false;

  constructor(options: GraphqlOptions) {
    this.#options = options;
    this.limits = { ...defaultLimits, ...options.limits };
    this.#live = new LiveHub(options);
  }

  get loaded(): Lanes | null {
    return this.#lanes;
  }

  load(): Promise<Lanes> {
    if (this.#closed) return Promise.reject(shuttingDown());
    return (this.#loading ??= this.#start());
  }

  async execute(
    query: string,
    variables: Variables,
    principal: Principal,
    { operationName, signal }: { operationName?: string; signal?: AbortSignal } = {},
  ): Promise<GraphqlAnswer> {
    const lanes = this.#lanes ?? (await this.load());
    return lanes.answer({
      query,
      operationName,
      variables,
      principal,
      http: null,
      via: 'mcp',
      signal: signal ?? null,
      request: null,
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#live.close();
    const lanes = await this.#loading?.catch(() => null);
    await lanes?.close();
  }

  async #start(): Promise<Lanes> {
    const { reader, logs, accountReads, accounts, actors, audit, logger } = this.#options;
    const { Lanes } = await import('./lanes.ts');
    const settings = this.#options.settings();
    const pool = (await this.#options.pool?.(settings, this.limits)) ?? null;
    this.#lanes = new Lanes({
      read: { reader, logs, accounts: accountReads, settings },
      write: { actors, accounts, live: this.#live, ...(audit && { audit }) },
      limits: this.limits,
      pool,
      logger,
      reuseBytes: this.#options.reuseBytes ?? 8 * 1024 * 1024,
    });
    return this.#lanes;
  }
}

function shuttingDown(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
}
