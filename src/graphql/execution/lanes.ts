/**
 * Owns where a GraphQL request runs: quick queries here, others in the pool, changes here where the
 * actors are. What is quick is told by the static cost, by how long a document took before, and by
 * what else was done in the same turn of the loop.
 *
 * 1. The answer is the same whichever lane it came from.
 * 2. What a request may see is decided by its principal alone; an answer is used again only for the
 *    same principal, request and journal position.
 * 3. In one turn of the loop queries take about `inlineTurnUs` here, and then only those for which the
 *    way to a worker would take this thread as long.
 */
import type { GraphQLSchema } from 'graphql';
import { callerOf, type Principal } from '../../auth/callers/principal.ts';
import type { Logger } from '../../lib/log.ts';
import { AnswerReuse } from './answer-reuse.ts';
import type { CallSide, GraphContext, GraphqlLimits, ReadSide, WriteSide } from '../context.ts';
import { Executor, type Prepared } from './executor.ts';
import { type Answer, type Operation, startOfAnswer, type Variables } from './operation.ts';
import { Paces, Turn } from './pace.ts';
import { schema } from '../schema/schema.ts';

export interface GraphqlCall extends CallSide {
  query: string;
  operationName: string | undefined;
  /** What the document was made into, where that was asked for before. */
  prepared?: Prepared;
  variables: Variables;
  principal: Principal;
  via: 'http' | 'mcp';
  /** Who waits, where that can be told without making a signal; default: `signal`. */
  caller?: { readonly aborted: boolean };
  /** The request as it came over HTTP, when its answer may be used again; lent until the call returns. */
  request: Buffer | null;
  /** Of longer data only the start is wanted, itself JSON. */
  charsMax?: number;
}

export interface GraphqlAnswer {
  kind: 'executed' | 'partial' | 'refused';
  /** JSON, UTF-8. */
  body: Uint8Array;
  /** Of a worker's: gives the memory back to it, once nobody looks at the body any more. */
  giveBack?: () => void;
}

/** What runs queries on other threads. */
export interface QueryLane {
  /** Whether a thread is there to answer a light query at once. */
  readonly ready: boolean;
  /** Starts the threads for light queries ahead of the first. */
  start(): void;
  /** `call` crosses to the thread. */
  ask(call: LaneCall, asker: LaneAsker): Promise<GraphqlAnswer & { tookUs: number }>;
  close(): Promise<void>;
}

type LaneCall = Pick<GraphqlCall, 'query' | 'variables' | 'principal' | 'via' | 'charsMax'> & {
  operationName: string | null;
};

interface LaneAsker {
  /** Callers of one key share its turns. */
  key: string;
  caller: { readonly aborted: boolean } | null;
  heavy: boolean;
  /** What it may take, in about microseconds. */
  weight: number;
}

/** What runs mutations, where that is not this thread. */
export interface MutationDoor {
  answer(call: GraphqlCall): Promise<GraphqlAnswer>;
}

export interface LanesOptions {
  read: ReadSide;
  write: WriteSide;
  /** Where mutations run; default: here. */
  mutations?: MutationDoor;
  limits: GraphqlLimits;
  pool: QueryLane | null;
  logger: Logger;
  /** Bytes of answers kept for reuse; 0 for none. */
  reuseBytes: number;
  /** Told where a compiled query failed otherwise than it may. */
  onFault?: () => void;
}

/** What it takes this thread to ask a worker and to take its answer. */
const handOverUs = 40;
// What a document that nobody here has judged counts in its queue: about what validating it takes.
const deferredUs = 5_000;

export class Lanes {
  readonly #options: LanesOptions;
  readonly #executor: Executor;
  readonly #reuse: AnswerReuse;
  readonly #paces = new Paces();
  readonly #turn: Turn;

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#turn = new Turn(options.limits.inlineTurnUs);
    this.#reuse = new AnswerReuse(options.reuseBytes);
    this.#executor = new Executor({
      schema,
      limits: options.limits,
      defer: options.pool !== null,
      onInternal: (cause, path) => {
        options.logger.error({ err: cause, path }, 'graphql_internal_error');
      },
      onFault: (cause) => {
        options.logger.error({ err: cause }, 'graphql_compiled_fault');
        options.onFault?.();
      },
    });
  }

  get schema(): GraphQLSchema {
    return this.#executor.schema;
  }

  /** What is known of a document; a call may carry it. */
  prepare(query: string, operationName: string | undefined): Prepared {
    return this.#executor.prepare(query, operationName);
  }

  /** An answer given before to the very same request, still true. */
  recall(principal: Principal, request: Buffer): Uint8Array | undefined {
    return this.#reuse.get(principal, request, this.#options.read.reader.position);
  }

  /**
   * Answers a query or a mutation; a query that runs here is answered at once. Throws, or rejects,
   * with OVERLOADED, DEADLINE_EXCEEDED, SHUTTING_DOWN.
   */
  answer(call: GraphqlCall): GraphqlAnswer | Promise<GraphqlAnswer> {
    const admission = this.#executor.admit(this.#preparedOf(call), call, 'answer');
    if (admission.kind === 'refused') return toBytes(admission.answer);
    if (admission.kind === 'deferred') return this.#askPool(call, null, this.#options.limits.cost);
    const { operation, cost } = admission;
    const askedAt = this.#options.read.reader.position;
    const answer = this.#run(call, operation, cost);
    if (!operation.repeatable || call.request === null) return answer;
    if (!(answer instanceof Promise)) return this.#keep(call, call.request, answer, askedAt);
    const request = Buffer.from(call.request);
    return answer.then((settled) => this.#keep(call, request, settled, askedAt));
  }

  #keep(
    { principal }: GraphqlCall,
    request: Buffer,
    answer: GraphqlAnswer,
    askedAt: number,
  ): GraphqlAnswer {
    if (answer.kind === 'executed') {
      const now = this.#options.read.reader.position;
      this.#reuse.keep(principal, request, answer.body, askedAt, now);
    }
    return answer;
  }

  #preparedOf({ prepared, query, operationName }: GraphqlCall): Prepared {
    return prepared ?? this.#executor.prepare(query, operationName);
  }

  #run(
    call: GraphqlCall,
    operation: Operation,
    cost: number,
  ): GraphqlAnswer | Promise<GraphqlAnswer> {
    const { mutations } = this.#options;
    if (operation.atHome) {
      return mutations?.answer(call) ?? this.#runHere(call, operation);
    }
    if (this.#isForPool(operation, cost)) return this.#askPool(call, operation, cost);
    const startMs = performance.now();
    const answer = this.#runHere(call, operation);
    const tookUs = (performance.now() - startMs) * 1_000;
    this.#paces.learn(operation, cost, tookUs);
    this.#turn.spend(tookUs);
    return answer;
  }

  #runHere(call: GraphqlCall, operation: Operation): GraphqlAnswer | Promise<GraphqlAnswer> {
    const answer = operation.run(call.variables, this.context(call));
    const { charsMax } = call;
    return answer instanceof Promise
      ? answer.then((settled) => toBytes(startOfAnswer(settled, charsMax)))
      : toBytes(startOfAnswer(answer, charsMax));
  }

  /** `document`: null where nobody here has judged it, which is only where there is a pool. */
  async #askPool(
    call: GraphqlCall,
    document: Operation | null,
    cost: number,
  ): Promise<GraphqlAnswer> {
    const { pool } = this.#options;
    if (pool === null) throw new Error('There is no other thread to ask.');
    const { query, operationName = null, variables, principal, via, charsMax } = call;
    const asked = { query, operationName, variables, principal, via };
    const answer = await pool.ask(charsMax === undefined ? asked : { ...asked, charsMax }, {
      key: callerOf(principal),
      caller: call.caller ?? call.signal,
      heavy: !document || this.#paces.costOf(document, cost) > this.#options.limits.heavyCost,
      weight: document ? this.#paces.expectUs(document, cost) : deferredUs,
    });
    if (document) this.#paces.learn(document, cost, answer.tookUs);
    return answer;
  }

  /** Workers take a moment to start: until then this thread answers what is not heavy. */
  #isForPool(document: Operation, cost: number): boolean {
    const { pool } = this.#options;
    if (pool === null) return false;
    const { inlineCost, heavyCost } = this.#options.limits;
    const usualUs = this.#paces.usualUs(document, cost);
    const carefulCost = Math.max(this.#paces.costOf(document, cost), cost);
    if (usualUs <= handOverUs || carefulCost <= inlineCost) return false;
    if (pool.ready) return !this.#turn.hasRoom(usualUs);
    pool.start();
    return carefulCost > heavyCost;
  }

  /** The results of a subscription as JSON, or of anything else: its one answer. */
  async *results(call: GraphqlCall): AsyncGenerator<string, void> {
    const prepared = this.#preparedOf(call);
    if (prepared.kind !== 'subscription') {
      const { body } = await this.answer(call);
      yield Buffer.from(body).toString();
      return;
    }
    const admission = this.#executor.admit(prepared, call, 'events');
    if (admission.kind === 'refused') yield admission.answer.json;
    if (admission.kind !== 'admitted') return;
    yield* admission.operation.events(call.variables, this.context(call));
  }

  context(call: CallSide & Pick<GraphqlCall, 'principal' | 'via'>): GraphContext {
    const { read, write } = this.#options;
    const { principal, via } = call;
    return { read, write, principal, via, call };
  }

  async close(): Promise<void> {
    await this.#options.pool?.close();
  }
}

function toBytes({ kind, json }: Answer): GraphqlAnswer {
  return { kind, body: Buffer.from(json) };
}
