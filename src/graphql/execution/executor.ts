/**
 * Owns the execution of GraphQL on one thread: the schema, the documents known there, and the check of a
 * request. Every lane has one.
 *
 * 1. A document is prepared once, into one `Operation`, which is passed on and not looked up again.
 * 2. A request is checked once, by `admit`, before anything runs: first the names that MCP refuses, then
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
  /** Called for an unexpected failure of a compiled query; graphql-js answers then. */
  onFault: (cause: unknown) => void;
  /** Whether queries and events are compiled; default true. */
  compile?: boolean;
  /** Whether long queries are left to another thread; default false. */
  defer?: boolean;
}

/** The result of preparing a document. */
export type Prepared = (
  | Operation
  | { kind: 'refused'; answer: Answer }
  /** A long query that was not checked here, for another thread to check. */
  | { kind: 'deferred' }
) & {
  /** What MCP refuses in the document. It is filled for every document. */
  readonly exposed: Exposed;
};

/** The result of checking a request. */
export type Admission =
  | { kind: 'admitted'; operation: Operation; cost: number }
  | { kind: 'refused'; answer: Answer }
  | { kind: 'deferred' };

/** What is checked of a request besides its document. */
export interface Asked {
  readonly variables: Variables;
  readonly via: GraphContext['via'];
}

/** Each has at most `limits.tokens`, which bounds their memory. */
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

  /** The result of preparing a document; a new one is prepared now. */
  prepare(query: string, operationName: string | undefined): Prepared {
    const key = documentKey(query, operationName);
    const known = this.#documents.get(key);
    if (known) return known;
    const prepared = this.#prepare(query, operationName);
    // A text above the limit is refused fast enough without a cache. A text that never comes again would
    // only take the place of others and give the collector work.
    const keeps = query.length <= this.#limits.queryChars;
    if (keeps && this.#seen.note(hashOfText(key))) this.#documents.set(key, prepared);
    return prepared;
  }

  /**
   * Checks a request. Throws NOT_ACCEPTABLE for a subscription where one answer is wanted. Over MCP only
   * the service itself asks for events.
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

  /** Prepares, checks and runs. A query's answer is returned synchronously. */
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
