/**
 * Owns one operation of a valid document: its kind, its cost, and how it runs.
 *
 * 1. An answer, and each event of a subscription, is byte for byte what graphql-js gives. A query, and what is told of
 *    an event, is compiled to what writes its JSON. An event for which that cannot be, such as one with fields that
 *    answer later, is told by graphql-jit. Whatever meets an error there is run again by graphql-js, which is safe
 *    because all of them only read.
 * 2. Mutations are always interpreted.
 * 3. An answer is of one kind: `executed` without an error, `partial` with data and errors, or
 *    `refused` before anything ran.
 */
import {
  createSourceEventStream,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
} from 'graphql';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import { jsonStart } from '../../protocol/json-structure.ts';
import type { GraphContext } from '../context.ts';
import type { CostOf } from '../gate/cost.ts';
import { mentions, type ReadyDocument } from '../gate/documents.ts';
import type { Exposed } from '../gate/exposure.ts';
import { type CompiledQuery, compileQuery } from './compile-query.ts';
import { formatError, formatServiceError, type InternalSink } from '../errors.ts';
import type { RecordTexts } from './record-texts.ts';

export type Variables = Readonly<Record<string, unknown>>;
export type OperationKind = 'query' | 'mutation' | 'subscription';

export interface Answer {
  kind: 'executed' | 'partial' | 'refused';
  json: string;
}

/** What all operations of a thread share. */
export interface Runtime {
  schema: GraphQLSchema;
  texts: RecordTexts;
  compile: boolean;
  onInternal: InternalSink;
  /** Told where a compiled query failed otherwise than it may. */
  onFault: (cause: unknown) => void;
}

type CompiledEvent = (
  event: unknown,
  context: GraphContext,
  variables: Variables,
) => ExecutionResult | Promise<ExecutionResult>;

export class Operation {
  readonly kind: OperationKind;
  readonly exposed: Exposed;
  /** What it may take at most, known before it runs. */
  readonly cost: CostOf;
  /** Whether its answer depends on the principal, the variables and the journal alone. */
  readonly repeatable: boolean;
  /** Whether it runs where the actors are. */
  readonly atHome: boolean;
  readonly #runtime: Runtime;
  readonly #ready: ReadyDocument;
  /** Undefined: not tried yet; null: graphql-js runs it. */
  #query: CompiledQuery | null | undefined;
  #event: CompiledEvent | null | undefined;

  constructor(runtime: Runtime, ready: ReadyDocument) {
    this.kind = ready.operation.operation;
    this.exposed = ready.exposed;
    this.cost = ready.cost;
    this.repeatable = ready.repeatable;
    this.atHome = this.kind === 'mutation' || ready.asks;
    this.#runtime = runtime;
    this.#ready = ready;
  }

  /** Runs a query or a mutation. The answer of a query that asks nobody is there at once. */
  run(variables: Variables, context: GraphContext): Answer | Promise<Answer> {
    const json = this.kind === 'query' && !this.atHome ? this.#write(variables, context) : null;
    if (json !== null) return { kind: 'executed', json };
    const result = execute(this.#asked(variables, context));
    if (result instanceof Promise) return result.then((settled) => this.#toAnswer(settled));
    return this.#toAnswer(result);
  }

  /** Starts a subscription: its results as JSON, one by one; of a refused one, the one answer. */
  async *events(variables: Variables, context: GraphContext): AsyncGenerator<string, void> {
    const asked = this.#asked(variables, context);
    const source = await createSourceEventStream(asked);
    if (!(Symbol.asyncIterator in source)) {
      yield this.#toAnswer(source).json;
      return;
    }
    try {
      for await (const event of source) {
        const json = this.#write(variables, context, event);
        yield json ?? this.#toAnswer(await this.#told(event, asked, context)).json;
      }
    } catch (error) {
      // A source that ends with an error says so in its last event.
      if (!(error instanceof ServiceError)) this.#runtime.onInternal(error, 'subscription');
      yield refusal([formatServiceError(asServiceError(error))]).json;
    }
  }

  #write(variables: Variables, context: GraphContext, event?: unknown): string | null {
    const { schema, texts, compile, onFault } = this.#runtime;
    if (this.#query === undefined) {
      this.#query = compile ? compileQuery(schema, this.#ready, texts, onFault) : null;
    }
    return this.#query?.(variables, context, event) ?? null;
  }

  async #told(
    event: unknown,
    asked: ExecutionArgs,
    context: GraphContext,
  ): Promise<ExecutionResult> {
    const variables = asked.variableValues ?? {};
    const quick = await (
      await this.#compiledEvent(this.cost(variables))
    )?.(event, context, variables);
    return quick && !quick.errors ? quick : execute({ ...asked, rootValue: event });
  }

  /** Null for what graphql-jit answers otherwise than graphql-js. Loaded with the first such event. */
  async #compiledEvent(cost: number): Promise<CompiledEvent | null> {
    const { schema, compile } = this.#runtime;
    const { document, operationName } = this.#ready;
    const { compileQuery: compileEvent, isCompiledQuery } = await import('graphql-jit');
    if (this.#event !== undefined) return this.#event;
    const compiles =
      compile && cost <= jitCostMax && !mentions(document, jitRefused, Kind.DIRECTIVE);
    const compiled = compiles ? compileEvent(schema, document, operationName) : null;
    this.#event = compiled && isCompiledQuery(compiled) ? (compiled.query as CompiledEvent) : null;
    return this.#event;
  }

  #asked(variableValues: Variables, contextValue: GraphContext): ExecutionArgs {
    const { document, operationName } = this.#ready;
    return {
      schema: this.#runtime.schema,
      document,
      operationName,
      variableValues,
      contextValue,
    };
  }

  #toAnswer(result: ExecutionResult): Answer {
    if (!result.errors) return { kind: 'executed', json: JSON.stringify(result) };
    const errors = result.errors.map((error: GraphQLError) =>
      formatError(error, this.#runtime.onInternal),
    );
    if (!('data' in result)) return refusal(errors);
    return { kind: 'partial', json: JSON.stringify({ errors, data: result.data }) };
  }
}

/**
 * What graphql-jit 0.8 answers otherwise than graphql-js, besides directives: it drops fields of a
 * fragment that is spread twice, once conditionally, and puts the fields in another order.
 */
const jitRefused = new Set(['__schema', '__type', '__proto__']);
// Its compilation takes long for what spreads to many fields.
const jitCostMax = 1_000;

export function refusal(errors: readonly GraphQLFormattedError[]): Answer {
  return { kind: 'refused', json: JSON.stringify({ errors }) };
}

const dataStart = '{"data":';
const errorsMax = 20;

/**
 * The same answer, of longer data the start alone, so that the rest never crosses to another thread. It is
 * JSON still, and one value, however long, stays whole.
 */
export function startOfAnswer(answer: Answer, charsMax: number | undefined): Answer {
  const { kind, json } = answer;
  if (charsMax === undefined || json.length <= charsMax || kind === 'refused') return answer;
  if (kind === 'executed') {
    const start = jsonStart(json.slice(dataStart.length), charsMax);
    return start === null ? answer : { kind, json: `${dataStart}${start}}` };
  }
  const { data, errors } = JSON.parse(json) as { data?: unknown; errors: unknown[] };
  const whole = JSON.stringify(data ?? null);
  const shown = jsonStart(whole, charsMax) ?? whole;
  return {
    kind,
    json: `${dataStart}${shown},"errors":${JSON.stringify(errors.slice(0, errorsMax))}}`,
  };
}
