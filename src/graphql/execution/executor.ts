/**
 * Owns the execution of GraphQL on one thread: the schema, the documents known there, and the one
 * judgement of a request. Every lane has one.
 *
 * 1. A document is prepared once, into one `Operation`, which is handed on and not looked up again.
 * 2. A request is judged once, by `admit`, before anything runs: what it names over MCP first, then
 *    whether the document is valid, then its cost.
 */
import type { GraphQLFormattedError, GraphQLSchema } from 'graphql';
import { ServiceError } from '../../lib/errors.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import type { GraphContext, GraphqlLimits } from '../context.ts';
import { documentKey, type Judgement, prepare } from '../gate/documents.ts';
import { type Exposed, Exposure } from '../gate/exposure.ts';
import { formatServiceError, type InternalSink } from '../errors.ts';
import { type Answer, Operation, refusal, type Runtime, type Variables } from './operation.ts';
import { RecordTexts } from './record-texts.ts';
import { hashOfText, SeenBefore } from './seen-before.ts';

export interface ExecutorOptions {
  schema: GraphQLSchema;
  limits: GraphqlLimits;
  onInternal: InternalSink;
  /** Told where a compiled query failed otherwise than it may; graphql-js answers then. */
  onFault: (cause: unknown) => void;
  /** Whether queries and events are compiled; default true. */
  compile?: boolean;
  /** Whether long queries are left to another thread; default false. */
  defer?: boolean;
}

/** What is known of a document. */
export type Prepared = (
  | Operation
  | { kind: 'refused'; answer: Answer }
  /** A long query that was not judged here, for another thread to judge. */
  | { kind: 'deferred' }
) & {
  /** Why it is refused over MCP, whatever else it is. */
  readonly exposed: Exposed;
};

/** What becomes of a request. */
export type Admission =
  | { kind: 'admitted'; operation: Operation; cost: number }
  | { kind: 'refused'; answer: Answer }
  | { kind: 'deferred' };

/** What is judged of a request besides its document. */
export interface Asked {
  readonly variables: Variables;
  readonly via: GraphContext['via'];
}

/** Each of `limits.tokens` at most, which bounds their memory. */
const documentsMax = 500;

export class Executor {
  readonly schema: GraphQLSchema;
  readonly #limits: GraphqlLimits;
  readonly #judgement: Judgement;
  readonly #runtime: Runtime;
  readonly #documents = new RecentMap<Prepared>(documentsMax);
  readonly #seen = new SeenBefore();

  constructor(options: ExecutorOptions) {
    const { schema, limits, onInternal, onFault, compile = true, defer = false } = options;
    this.schema = schema;
    this.#limits = limits;
    this.#judgement = { schema, exposure: new Exposure(schema), limits, defer };
    this.#runtime = { schema, texts: new RecordTexts(), compile, onInternal, onFault };
  }

  /** What is known of a document, preparing it when it is new. */
  prepare(query: string, operationName: string | undefined): Prepared {
    const key = documentKey(query, operationName);
    const known = this.#documents.get(key);
    if (known) return known;
    const prepared = this.#prepare(query, operationName);
    // A text beyond the bound is not worth keeping to refuse it faster; nor is one that never comes
    // again, which would only be in the way of the others and of the collector.
    const keeps = query.length <= this.#limits.queryChars;
    if (keeps && this.#seen.note(hashOfText(key))) this.#documents.set(key, prepared);
    return prepared;
  }

  /**
   * Judges a request. Throws NOT_ACCEPTABLE for a subscription where one answer is wanted; over MCP
   * only the service itself asks for events.
   */
  admit(prepared: Prepared, { variables, via }: Asked, wanted: 'answer' | 'events'): Admission {
    const { exposed } = prepared;
    if (via === 'mcp') {
      const named =
        wanted === 'events' ? exposed.fields : [...exposed.fields, ...exposed.subscriptions];
      if (named.length > 0) return refused(named);
    }
    if (prepared.kind === 'refused' || prepared.kind === 'deferred') return prepared;
    if (prepared.kind === 'subscription' && wanted === 'answer') {
      throw new ServiceError('NOT_ACCEPTABLE', 'Subscriptions are sent as text/event-stream.');
    }
    const cost = prepared.cost(variables);
    const limit = this.#limits.cost;
    if (cost <= limit) return { kind: 'admitted', operation: prepared, cost };
    const detail = `The operation may cost ${cost}, more than ${limit}: ask for shorter lists.`;
    const error = new ServiceError('COST_LIMIT', detail, { extensions: { cost, limit } });
    return refused([formatServiceError(error)]);
  }

  /** Prepares, judges and runs at once. A query's answer is there at once. */
  answer(
    query: string,
    operationName: string | undefined,
    variables: Variables,
    context: GraphContext,
  ): Answer | Promise<Answer> {
    const prepared = this.prepare(query, operationName);
    const admission = this.admit(prepared, { variables, via: context.via }, 'answer');
    if (admission.kind === 'refused') return admission.answer;
    if (admission.kind === 'deferred') throw new Error('The document was left to another thread.');
    return admission.operation.run(variables, context);
  }

  #prepare(query: string, operationName: string | undefined): Prepared {
    const judged = prepare(this.#judgement, query, operationName);
    const { exposed } = judged;
    if (judged.kind === 'ready') return new Operation(this.#runtime, judged);
    if (judged.kind === 'deferred') return judged;
    return { kind: 'refused', exposed, answer: refusal(judged.errors) };
  }
}

function refused(errors: readonly GraphQLFormattedError[]): Admission {
  return { kind: 'refused', answer: refusal(errors) };
}
