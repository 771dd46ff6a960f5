/**
 * Owns where a GraphQL request runs: small queries here, others in the pool, changes here where the
 * actors are.
 *
 * 1. The answer is the same whichever lane it came from.
 * 2. What a request may see is decided by its principal alone; an answer is used again only for the
 *    same principal, request and journal position.
 * 3. `drain` ends subscriptions and lets requests finish; `close` also ends the pool.
 */
import { OperationTypeNode } from 'graphql';
import type { Principal } from '../auth/principal.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { QueryPool } from '../workers/query-pool.ts';
import { AnswerReuse } from './answer-reuse.ts';
import type { GraphContext, GraphqlLimits, HttpSide, ReadSide, WriteSide } from './contract.ts';
import type { Prepared, ReadyDocument } from './documents.ts';
import { Engine, type Variables } from './engine.ts';
import { createSchema } from './schema/schema.ts';

export interface GraphqlCall {
  query: string;
  operationName: string | undefined;
  variables: Variables;
  principal: Principal;
  http: HttpSide | null;
  via: 'http' | 'mcp';
  signal: AbortSignal | null;
  /** The request as it came, when its answer may be used again. */
  reuseKey: string | null;
}

export interface GraphqlAnswer {
  kind: 'executed' | 'partial' | 'refused';
  /** JSON, UTF-8. */
  body: Uint8Array;
}

/** What runs queries on other threads. */
export type QueryLane = Pick<QueryPool, 'ask' | 'close' | 'ready' | 'start'>;

export interface LanesOptions {
  read: ReadSide;
  write: WriteSide;
  limits: GraphqlLimits;
  pool: QueryLane | null;
  logger: Logger;
  /** Bytes of answers kept for reuse; 0 for none. */
  reuseBytes: number;
}

export type OperationKind = `${OperationTypeNode}`;

export class Lanes {
  readonly #options: LanesOptions;
  readonly #engine: Engine;
  readonly #reuse: AnswerReuse;

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#reuse = new AnswerReuse(options.reuseBytes);
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
  recall(principal: Principal, request: string): Uint8Array | undefined {
    const { position } = this.#options.read.reader;
    return this.#reuse.get(reuseKeyOf(principal, request), position);
  }

  /** Answers a query or a mutation. Rejects with OVERLOADED, DEADLINE_EXCEEDED, SHUTTING_DOWN. */
  async answer(call: GraphqlCall): Promise<GraphqlAnswer> {
    const { query, operationName, variables } = call;
    const prepared = this.#engine.prepare(query, operationName);
    if (prepared.kind === 'ready' && isSubscription(prepared)) {
      throw new ServiceError('NOT_ACCEPTABLE', 'Subscriptions are sent as text/event-stream.');
    }
    const { pool, read } = this.#options;
    const askedAt = read.reader.position;
    const answer: GraphqlAnswer =
      pool !== null && this.#isForPool(pool, prepared, variables)
        ? await this.#askPool(pool, call)
        : await this.#answerHere(call);
    const isRepeatable = prepared.kind === 'ready' && prepared.repeatable;
    if (isRepeatable && answer.kind === 'executed' && call.reuseKey !== null) {
      const key = reuseKeyOf(call.principal, call.reuseKey);
      this.#reuse.keep(key, answer.body, askedAt, read.reader.position);
    }
    return answer;
  }

  async #answerHere(call: GraphqlCall): Promise<GraphqlAnswer> {
    const { query, operationName, variables } = call;
    const context = this.context(call);
    const { kind, json } = await this.#engine.answer(query, operationName, variables, context);
    return { kind, body: Buffer.from(json) };
  }

  async #askPool(pool: QueryLane, call: GraphqlCall): Promise<GraphqlAnswer> {
    const { query, operationName = null, variables, principal, via, signal } = call;
    const asked = { query, operationName, variables, principal, via, signal };
    const { kind, bytes } = await pool.ask(asked);
    return { kind, body: bytes };
  }

  /** Workers take a moment to start: until then this thread answers what it can answer soon. */
  #isForPool(pool: QueryLane, prepared: Prepared, variables: Variables): boolean {
    if (prepared.kind === 'deferred') return true;
    if (prepared.kind !== 'ready') return false;
    if (prepared.operation.operation !== OperationTypeNode.QUERY) return false;
    const cost = prepared.cost(variables);
    const { inlineCost, coldInlineCost } = this.#options.limits;
    if (cost <= inlineCost) return false;
    if (pool.ready) return true;
    pool.start();
    return cost > coldInlineCost;
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

  context(call: Pick<GraphqlCall, 'principal' | 'http' | 'via' | 'signal'>): GraphContext {
    return {
      read: this.#options.read,
      write: this.#options.write,
      http: call.http,
      principal: call.principal,
      via: call.via,
      signal: call.signal,
    };
  }

  async close(): Promise<void> {
    await this.#options.pool?.close();
  }
}

function isSubscription({ operation }: ReadyDocument): boolean {
  return operation.operation === OperationTypeNode.SUBSCRIPTION;
}

/** Principals that would be answered alike have one key. */
function reuseKeyOf(principal: Principal, request: string): string {
  switch (principal.kind) {
    case 'anonymous':
      return `-\n${request}`;
    case 'person':
      return `p${principal.userId} ${principal.teamId ?? '-'}\n${request}`;
    case 'token':
      return `t${principal.tokenId} ${principal.teamId ?? '-'}\n${request}`;
  }
}
