/**
 * Owns GraphQL as the rest of the program sees it. Nothing heavy is imported before `load`: the
 * schema, graphql-js, the compiler and the pool come with the first request.
 *
 * What is asked from within comes over MCP: it is refused what documents may not name there, and it
 * waits for nothing that is there at once.
 */
import type { Principal } from '../auth/callers/principal.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import {
  defaultLimits,
  type GraphqlLimits,
  type GraphqlSettings,
  type ReadSide,
  type WriteSide,
} from './context.ts';
import { readSide } from './read-side.ts';
import type { Prepared } from './execution/executor.ts';
import type { Variables } from './execution/operation.ts';
import type {
  GraphqlAnswer,
  GraphqlCall,
  Lanes,
  MutationDoor,
  QueryLane,
} from './execution/lanes.ts';
import { LiveHub, type LiveHubOptions } from './live/watchers.ts';

export interface GraphqlOptions {
  read: Omit<ReadSide, 'settings'>;
  write: Omit<WriteSide, 'live'>;
  live: Omit<LiveHubOptions, 'reader'>;
  logger: Logger;
  /** Asked once, at `load`, so that ports picked by the system are known. */
  settings: () => GraphqlSettings;
  limits?: Partial<GraphqlLimits>;
  /** Makes the pool when it is first needed; without it everything runs on this thread. */
  pool?: (
    settings: GraphqlSettings,
    limits: GraphqlLimits,
    onFault: (event: string) => void,
  ) => Promise<QueryLane>;
  /** Runs mutations elsewhere, where the actors are on another thread. */
  mutations?: MutationDoor;
  /** Bytes of answers kept to be given again; default 8 MiB. */
  reuseBytes?: number;
}

/** What may be said of a call from within besides what it asks. */
export type CallOptions = Partial<
  Omit<GraphqlCall, 'query' | 'variables' | 'principal' | 'http' | 'via' | 'request'>
>;

export class Graphql {
  readonly limits: GraphqlLimits;
  readonly #options: GraphqlOptions;
  readonly #live: LiveHub;
  #compiledFaults = 0;
  #lanes: Lanes | null = null;
  #loading: Promise<Lanes> | null = null;
  #closed = false;

  constructor(options: GraphqlOptions) {
    this.#options = options;
    this.limits = { ...defaultLimits, ...options.limits };
    this.#live = new LiveHub({ ...options.live, reader: options.read.reader });
  }

  /** What `load` gave, when it has; saves a turn of the loop for every request after the first. */
  get loaded(): Lanes | null {
    return this.#lanes;
  }

  /** How many compiled queries failed otherwise than they may, on this thread and its workers. */
  get compiledFaults(): number {
    return this.#compiledFaults;
  }

  /** Loads what is heavy, once; also a warm-up after start. */
  load(): Promise<Lanes> {
    if (this.#closed) {
      const error = new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
      return Promise.reject(error);
    }
    return (this.#loading ??= this.#start());
  }

  /**
   * Runs a query or a mutation from within, as a principal; `body` is the JSON of the answer. Throws,
   * or rejects, as `Lanes.answer` does.
   */
  execute(
    query: string,
    variables: Variables,
    principal: Principal,
    options?: CallOptions,
  ): GraphqlAnswer | Promise<GraphqlAnswer> {
    const call = callFrom(query, variables, principal, options);
    if (this.#lanes !== null) return this.#lanes.answer(call);
    return this.load().then((lanes) => lanes.answer(call));
  }

  /**
   * The results of a subscription from within, each the JSON of an answer; of anything else its one
   * answer. It ends with `options.signal`, or when what it follows ends. Unlike `execute` it takes
   * subscriptions, so the document must be the service's own.
   */
  async *subscribe(
    query: string,
    variables: Variables,
    principal: Principal,
    options?: CallOptions,
  ): AsyncGenerator<string, void> {
    const lanes = this.#lanes ?? (await this.load());
    yield* lanes.results(callFrom(query, variables, principal, options));
  }

  /** What is known of a document before it is executed; a call may carry it. */
  prepare(query: string, operationName?: string): Prepared | Promise<Prepared> {
    if (this.#lanes !== null) return this.#lanes.prepare(query, operationName);
    return this.load().then((lanes) => lanes.prepare(query, operationName));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#live.close();
    const lanes = await this.#loading?.catch(() => null);
    await lanes?.close();
  }

  async #start(): Promise<Lanes> {
    const { read, write, mutations, logger, reuseBytes = 8 * 1024 * 1024 } = this.#options;
    const { Lanes } = await import('./execution/lanes.ts');
    const settings = this.#options.settings();
    const onFault = (event: string): void => {
      if (event === 'graphql_compiled_fault') this.#compiledFaults++;
    };
    const pool = (await this.#options.pool?.(settings, this.limits, onFault)) ?? null;
    this.#lanes = new Lanes({
      read: readSide(read, settings),
      write: { ...write, live: this.#live },
      ...(mutations && { mutations }),
      limits: this.limits,
      pool,
      logger,
      onFault: () => onFault('graphql_compiled_fault'),
      reuseBytes,
    });
    return this.#lanes;
  }
}

function callFrom(
  query: string,
  variables: Variables,
  principal: Principal,
  options: CallOptions = {},
): GraphqlCall {
  return {
    query,
    operationName: undefined,
    variables,
    principal,
    http: null,
    via: 'mcp',
    signal: null,
    request: null,
    ...options,
  };
}
