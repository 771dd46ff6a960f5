/**
 * Owns where a GraphQL request runs: quick queries here, others in the pool, changes here where the
 * actors are. What is quick is told by the static cost, by how long a document took before, and by
 * what else was done in the same turn of the loop.
 *
 * 1. The answer is the same whichever lane it came from.
 * 2. What a request may see is decided by its principal alone; an answer is used again only for the
 *    same principal, request and journal position, and for who came the same way.
 * 3. In one turn of the loop queries take about `inlineTurnUs` here, and then only those for which the
 *    way to a worker would take this thread as long.
 * 4. `drain` ends subscriptions and lets requests finish; `close` also ends the pool.
 */
import { OperationTypeNode } from 'graphql';
import { callerOf, type Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { QueryPool } from '../../workers/query-pool.ts';
import { startOfAnswer } from './answer-start.ts';
import { AnswerReuse } from './answer-reuse.ts';
import type {
  AgentSide,
  GraphContext,
  GraphqlLimits,
  HttpSide,
  ReadSide,
  WriteSide,
} from '../context.ts';
import type { Prepared, ReadyDocument } from '../gate/documents.ts';
import { type Answer, Engine, isExposing, type Variables } from './engine.ts';
import { Paces } from './pace.ts';
import { createSchema } from '../schema/schema.ts';
import { Turn } from './loop-turn.ts';

export interface GraphqlCall {
  query: string;
  operationName: string | undefined;
  variables: Variables;
  principal: Principal;
  http: HttpSide | null;
  via: 'http' | 'mcp';
  signal: AbortSignal | null;
  /** Who waits, where that can be told without making a signal; default: `signal`. */
  caller?: { readonly aborted: boolean };
  /** Who asks over MCP, for the activity. */
  agent?: AgentSide | null;
  /** The request as it came, when its answer may be used again; lent until the call returns. */
  request: Uint8Array | null;
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
export type QueryLane = Pick<QueryPool, 'ask' | 'close' | 'ready' | 'start' | 'underWay'>;

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
  /** Bytes of answers kept for reuse, for each way they are asked for; 0 for none. */
  reuseBytes: number;
}

/** What it takes this thread to ask a worker and to take its answer. */
const handOverUs = 40;
// What a document that nobody here has judged counts in its queue: about what validating it takes.
const deferredUs = 5_000;

export type OperationKind = `${OperationTypeNode}`;

export class Lanes {
  readonly #options: LanesOptions;
  readonly #engine: Engine;
  // Over MCP less may be named, and a request of one way may read as one of the other.
  readonly #reuse: Readonly<Record<GraphqlCall['via'], AnswerReuse>>;
  readonly #paces = new Paces();
  readonly #turn: Turn;

  constructor(options: LanesOptions) {
    this.#options = options;
    const { reuseBytes } = options;
    this.#turn = new Turn(options.limits.inlineTurnUs);
    this.#reuse = { http: new AnswerReuse(reuseBytes), mcp: new AnswerReuse(reuseBytes) };
    this.#engine = new Engine({
      schema: createSchema(),
      limits: options.limits,
      defer: options.pool !== null,
      onInternal: (cause, path) => {
        options.logger.error({ err: cause, path }, 'graphql_internal_error');
      },
    });
  }

  get engine(): Engine {
    return this.#engine;
  }

  /** The kind of a document's operation; null for one that will be refused. */
  kindOf(query: string, operationName: string | undefined): OperationKind | null {
    const prepared = this.#engine.prepare(query, operationName);
    if (prepared.kind === 'deferred') return 'query';
    return prepared.kind === 'ready' ? prepared.operation.operation : null;
  }

  /** An answer given before to the very same request, still true. */
  recall(
    principal: Principal,
    request: Uint8Array,
    via: GraphqlCall['via'] = 'http',
  ): Uint8Array | undefined {
    return this.#reuse[via].get(principal, request, this.#options.read.reader.position);
  }

  /**
   * Answers a query or a mutation; a query that runs here is answered at once. Throws, or rejects,
   * with OVERLOADED, DEADLINE_EXCEEDED, SHUTTING_DOWN.
   */
  answer(call: GraphqlCall): GraphqlAnswer | Promise<GraphqlAnswer> {
    const { query, operationName } = call;
    const prepared = this.#engine.prepare(query, operationName);
    if (isExposing(prepared, call.via)) return this.#answerHere(call);
    if (prepared.kind === 'ready' && isSubscription(prepared)) {
      throw new ServiceError('NOT_ACCEPTABLE', 'Subscriptions are sent as text/event-stream.');
    }
    const askedAt = this.#options.read.reader.position;
    const answer = this.#run(call, prepared);
    if (prepared.kind !== 'ready' || !prepared.repeatable || call.request === null) return answer;
    if (!(answer instanceof Promise)) return this.#keep(call, call.request, answer, askedAt);
    const request = Buffer.from(call.request);
    return answer.then((settled) => this.#keep(call, request, settled, askedAt));
  }

  #keep(
    { principal, via }: GraphqlCall,
    request: Uint8Array,
    answer: GraphqlAnswer,
    askedAt: number,
  ): GraphqlAnswer {
    if (answer.kind === 'executed') {
      const now = this.#options.read.reader.position;
      this.#reuse[via].keep(principal, request, answer.body, askedAt, now);
    }
    return answer;
  }

  #run(call: GraphqlCall, prepared: Prepared): GraphqlAnswer | Promise<GraphqlAnswer> {
    const { pool, limits } = this.#options;
    if (prepared.kind === 'deferred' && pool) return this.#askPool(pool, call, null, limits.cost);
    if (prepared.kind !== 'ready') return this.#answerHere(call);
    if (isMutation(prepared))
      return this.#options.mutations?.answer(call) ?? this.#answerHere(call);
    const cost = prepared.cost(call.variables);
    if (cost > limits.cost) return this.#answerHere(call);
    if (pool && this.#isForPool(pool, prepared, cost)) {
      return this.#askPool(pool, call, prepared, cost);
    }
    const startMs = performance.now();
    const answer = this.#answerHere(call);
    const tookUs = (performance.now() - startMs) * 1_000;
    this.#paces.learn(prepared, cost, tookUs);
    this.#turn.spend(tookUs);
    return answer;
  }

  #answerHere(call: GraphqlCall): GraphqlAnswer | Promise<GraphqlAnswer> {
    const { query, operationName, variables } = call;
    const context = this.context(call);
    const answer = this.#engine.answer(query, operationName, variables, context);
    const { charsMax } = call;
    return answer instanceof Promise
      ? answer.then((settled) => toBytes(startOfAnswer(settled, charsMax)))
      : toBytes(startOfAnswer(answer, charsMax));
  }

  /** `document`: null where nobody here knows it. */
  async #askPool(
    pool: QueryLane,
    call: GraphqlCall,
    document: ReadyDocument | null,
    cost: number,
  ): Promise<GraphqlAnswer> {
    const { query, operationName = null, variables, principal, via, charsMax } = call;
    const { kind, bytes, tookUs, giveBack } = await pool.ask({
      query,
      operationName,
      variables,
      principal,
      via,
      ...(charsMax !== undefined && { charsMax }),
      key: callerOf(principal),
      caller: call.caller ?? call.signal,
      heavy: !document || this.#paces.costOf(document, cost) > this.#options.limits.heavyCost,
      weight: document ? this.#paces.expectUs(document, cost) : deferredUs,
    });
    if (document) this.#paces.learn(document, cost, tookUs);
    return { kind, body: bytes, giveBack };
  }

  /** Workers take a moment to start: until then this thread answers what is not heavy. */
  #isForPool(pool: QueryLane, document: ReadyDocument, cost: number): boolean {
    const { inlineCost, heavyCost } = this.#options.limits;
    const expectedUs = this.#paces.expectUs(document, cost);
    const carefulCost = Math.max(this.#paces.costOf(document, cost), cost);
    if (expectedUs <= handOverUs || carefulCost <= inlineCost) return false;
    if (pool.ready) return !this.#turn.hasRoom(expectedUs);
    pool.start();
    return carefulCost > heavyCost;
  }

  /** The results of a subscription as JSON, or of anything else: its one answer. */
  async *results(call: GraphqlCall): AsyncGenerator<string, void> {
    const prepared = this.#engine.prepare(call.query, call.operationName);
    if (prepared.kind !== 'ready' || !isSubscription(prepared)) {
      const { body } = await this.answer(call);
      yield Buffer.from(body).toString();
      return;
    }
    const source = await this.#engine.subscribe(prepared, call.variables, this.context(call));
    if ('json' in source) yield source.json;
    else yield* source;
  }

  context(call: ContextCall): GraphContext {
    return new CallContext(this.#options, call);
  }

  async close(): Promise<void> {
    await this.#options.pool?.close();
  }
}

function toBytes({ kind, json }: Answer): GraphqlAnswer {
  return { kind, body: Buffer.from(json) };
}

function isMutation({ operation }: ReadyDocument): boolean {
  return operation.operation === OperationTypeNode.MUTATION;
}

function isSubscription({ operation }: ReadyDocument): boolean {
  return operation.operation === OperationTypeNode.SUBSCRIPTION;
}

type ContextCall = Pick<GraphqlCall, 'principal' | 'http' | 'via' | 'agent' | 'signal'>;

/** What few resolvers ask for is read from the call when they do. */
class CallContext implements GraphContext {
  readonly read: ReadSide;
  readonly write: WriteSide;
  readonly principal: Principal;
  readonly via: 'http' | 'mcp';
  readonly #call: ContextCall;

  constructor({ read, write }: Pick<LanesOptions, 'read' | 'write'>, call: ContextCall) {
    this.read = read;
    this.write = write;
    this.principal = call.principal;
    this.via = call.via;
    this.#call = call;
  }

  get http(): HttpSide | null {
    return this.#call.http;
  }

  get agent(): AgentSide | null {
    return this.#call.agent ?? null;
  }

  get signal(): AbortSignal | null {
    return this.#call.signal;
  }
}
