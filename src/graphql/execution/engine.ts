/**
 * Owns the execution of GraphQL on one thread: the schema, the documents known, and what was
 * compiled of them. Every lane is one of these.
 *
 * 1. The answer to a query, and to each event of a subscription, is byte for byte what graphql-js
 *    gives: what was compiled and met any error is run again by graphql-js, which is safe because
 *    both only read.
 * 2. Queries are compiled to what writes their JSON, events of subscriptions by graphql-jit; mutations
 *    are always interpreted.
 * 3. An answer is of one kind: `executed` without an error, `partial` with data and errors, or
 *    `refused` before anything ran.
 * 4. What a document may not name over MCP is refused before anything else is looked at, here and so
 *    on every thread.
 */
import {
  createSourceEventStream,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
} from 'graphql';
import { ServiceError } from '../../lib/errors.ts';
import { type CompiledQuery, compileQuery } from './compile-query.ts';
import type { GraphContext, GraphqlLimits } from '../context.ts';
import {
  DocumentCache,
  documentKey,
  type Judgement,
  type Prepared,
  prepare,
  type ReadyDocument,
} from '../gate/documents.ts';
import { formatError, formatServiceError, type InternalSink } from './errors.ts';
import { Exposure } from '../gate/exposure.ts';
import { RecordTexts } from './record-texts.ts';
import { hashOfText, SeenBefore } from './seen-before.ts';

export type Variables = Readonly<Record<string, unknown>>;

export interface Answer {
  kind: 'executed' | 'partial' | 'refused';
  json: string;
}

export interface EngineOptions {
  schema: GraphQLSchema;
  limits: GraphqlLimits;
  onInternal: InternalSink;
  /** Whether queries are compiled; default true. */
  compile?: boolean;
  /** Whether long queries are left to another thread; default false. */
  defer?: boolean;
}

type CompiledEvent = (
  event: unknown,
  context: GraphContext,
  variables: Variables,
) => ExecutionResult | Promise<ExecutionResult>;

interface Entry {
  prepared: Prepared;
  /** Undefined: not tried yet; null: not to be compiled. */
  run: CompiledQuery | null | undefined;
}

export class Engine {
  readonly schema: GraphQLSchema;
  readonly #options: EngineOptions;
  readonly #judgement: Judgement;
  readonly #documents = new DocumentCache<Entry>();
  readonly #seen = new SeenBefore();
  /** The one asked for last: of one request it is asked for several times. */
  #latest: { query: string; operationName: string | undefined; entry: Entry } | null = null;
  readonly #texts = new RecordTexts();
  readonly #events = new WeakMap<ReadyDocument, CompiledEvent | null>();

  constructor(options: EngineOptions) {
    const { schema, limits, defer = false } = options;
    this.schema = schema;
    this.#options = options;
    this.#judgement = { schema, exposure: new Exposure(schema), limits, defer };
  }

  /** What is known of a document, preparing it when it is new. */
  prepare(query: string, operationName: string | undefined): Prepared {
    return this.#entry(query, operationName).prepared;
  }

  /** Answers a query or a mutation. A query's answer is there at once. */
  answer(
    query: string,
    operationName: string | undefined,
    variables: Variables,
    context: GraphContext,
  ): Answer | Promise<Answer> {
    const entry = this.#entry(query, operationName);
    const { prepared } = entry;
    if (isExposing(prepared, context.via)) {
      return refusal([...prepared.exposed.fields, ...prepared.exposed.subscriptions]);
    }
    if (prepared.kind === 'refused') return refusal(prepared.errors);
    if (prepared.kind === 'deferred')
      throw new Error('A deferred query was run where it was not judged.');
    const tooCostly = this.#overCost(prepared, variables);
    if (tooCostly) return tooCostly;
    const json = this.#compiled(entry, prepared)?.(variables, context) ?? null;
    if (json !== null) return { kind: 'executed', json };
    const result = execute(this.#asked(prepared, variables, context));
    if (result instanceof Promise) return result.then((settled) => this.#toAnswer(settled));
    return this.#toAnswer(result);
  }

  /** Starts a subscription: its results as JSON, one by one, or the refusal. */
  async subscribe(
    prepared: ReadyDocument,
    variables: Variables,
    context: GraphContext,
  ): Promise<Answer | AsyncGenerator<string, void>> {
    const { fields } = prepared.exposed;
    if (context.via === 'mcp' && fields.length > 0) return refusal(fields);
    const tooCostly = this.#overCost(prepared, variables);
    if (tooCostly) return tooCostly;
    const asked = this.#asked(prepared, variables, context);
    const source = await createSourceEventStream(asked);
    if (!(Symbol.asyncIterator in source)) return this.#toAnswer(source);
    const run = await this.#compiledEvent(prepared);
    return this.#encode(source, async (event) => {
      const result = await run?.(event, context, variables);
      if (result && !result.errors) return result;
      return await execute({ ...asked, rootValue: event });
    });
  }

  async *#encode(
    source: AsyncIterable<unknown>,
    answer: (event: unknown) => Promise<ExecutionResult>,
  ): AsyncGenerator<string, void> {
    try {
      for await (const event of source) yield this.#toAnswer(await answer(event)).json;
    } catch (error) {
      // A source that ends with an error says so in its last event.
      if (!(error instanceof ServiceError)) this.#options.onInternal(error, 'subscription');
      yield JSON.stringify({ errors: [formatServiceError(toService(error))] });
    }
  }

  #asked(
    { document, operationName }: ReadyDocument,
    variableValues: Variables,
    contextValue: GraphContext,
  ): ExecutionArgs {
    return { schema: this.schema, document, operationName, variableValues, contextValue };
  }

  /** Null for what graphql-jit answers otherwise than graphql-js. Loaded with the first subscription. */
  async #compiledEvent(ready: ReadyDocument): Promise<CompiledEvent | null> {
    const known = this.#events.get(ready);
    if (known !== undefined) return known;
    const { compileQuery: compileEvent, isCompiledQuery } = await import('graphql-jit');
    const compiles = ready.compilable && this.#options.compile !== false;
    const compiled = compiles
      ? compileEvent(this.schema, ready.document, ready.operationName)
      : null;
    const run = compiled && isCompiledQuery(compiled) ? (compiled.query as CompiledEvent) : null;
    this.#events.set(ready, run);
    return run;
  }

  #entry(query: string, operationName: string | undefined): Entry {
    const latest = this.#latest;
    if (latest !== null && latest.query === query && latest.operationName === operationName) {
      return latest.entry;
    }
    const entry = this.#known(query, operationName);
    this.#latest = { query, operationName, entry };
    return entry;
  }

  #known(query: string, operationName: string | undefined): Entry {
    const key = documentKey(query, operationName);
    const known = this.#documents.get(key);
    if (known) return known;
    const prepared = prepare(this.#judgement, query, operationName);
    const entry: Entry = { prepared, run: undefined };
    // A text beyond the bound is not worth keeping to refuse it faster; nor is one that never comes
    // again, which would only be in the way of the others and of the collector.
    const keeps = query.length <= this.#options.limits.queryChars;
    if (keeps && this.#seen.note(hashOfText(key))) this.#documents.set(key, entry);
    return entry;
  }

  #overCost(prepared: ReadyDocument, variables: Variables): Answer | null {
    const limit = this.#options.limits.cost;
    const cost = prepared.cost(variables);
    if (cost <= limit) return null;
    const detail = `The operation may cost ${cost}, more than ${limit}: ask for shorter lists.`;
    return refusal([
      formatServiceError(new ServiceError('COST_LIMIT', detail, { extensions: { cost, limit } })),
    ]);
  }

  #compiled(entry: Entry, ready: ReadyDocument): CompiledQuery | null {
    if (entry.run !== undefined) return entry.run;
    const compiles = ready.compilable && this.#options.compile !== false;
    return (entry.run = compiles ? compileQuery(this.schema, ready, this.#texts) : null);
  }

  #toAnswer(result: ExecutionResult): Answer {
    if (!result.errors) return { kind: 'executed', json: JSON.stringify(result) };
    const errors = result.errors.map((error: GraphQLError) =>
      formatError(error, this.#options.onInternal),
    );
    if (!('data' in result)) return refusal(errors);
    return { kind: 'partial', json: JSON.stringify({ errors, data: result.data }) };
  }
}

export function refusal(errors: readonly GraphQLFormattedError[]): Answer {
  return { kind: 'refused', json: JSON.stringify({ errors }) };
}

/** Whether a document is refused for what it names and the way it came. */
export function isExposing({ exposed }: Prepared, via: GraphContext['via']): boolean {
  if (via !== 'mcp') return false;
  return exposed.fields.length > 0 || exposed.subscriptions.length > 0;
}

function toService(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError('INTERNAL', 'Something went wrong on our side.', { cause: error });
}
