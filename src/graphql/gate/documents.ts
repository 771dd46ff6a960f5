/**
 * Owns what a document is made into, once: parsed, guarded, validated, its operation chosen, its cost
 * known, and what of it may not come over MCP.
 *
 * 1. The same text and operation name always give the same outcome, refusals included.
 * 2. What is hostile is refused in time linear in its size: text, then tokens, then shape, and only
 *    then validation.
 */
import {
  type DocumentNode,
  getOperationAST,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  validate,
} from 'graphql';
import { ServiceError } from '../../lib/errors.ts';
import type { GraphqlLimits } from '../context.ts';
import { type CostOf, staticCost } from './cost.ts';
import { formatRefusal, formatServiceError, PlacedSource } from '../errors.ts';
import { type Exposed, exposesNothing, type Exposure } from './exposure.ts';
import { guardShape } from './guards.ts';

export interface ReadyDocument {
  kind: 'ready';
  /** Why it is refused over MCP, whatever else it is. */
  exposed: Exposed;
  document: DocumentNode;
  operation: OperationDefinitionNode;
  operationName: string | undefined;
  cost: CostOf;
  /** Whether its answer depends on the principal, the variables and the journal alone. */
  repeatable: boolean;
  /** Whether it is a query that asks others, and so runs where mutations do. */
  asks: boolean;
}

export type JudgedDocument =
  /** A long query that was not judged here, for another thread to judge. */
  | { kind: 'deferred'; exposed: Exposed }
  | ReadyDocument
  | { kind: 'refused'; exposed: Exposed; errors: readonly GraphQLFormattedError[] };

/** By what documents are judged. */
export interface Judgement {
  schema: GraphQLSchema;
  exposure: Exposure;
  limits: GraphqlLimits;
  /** Whether the judgement of long documents is left to another thread. */
  defer: boolean;
}

// Suggestions make each of them dear.
const validationErrorsMax = 5;

// Values are validated, too, and shown in errors: a microsecond a token.
const lightTokens = 1_000;

export function prepare(
  { schema, exposure, limits, defer }: Judgement,
  query: string,
  operationName: string | undefined,
): JudgedDocument {
  let exposed = exposesNothing;
  const refused = (...errors: GraphQLFormattedError[]): JudgedDocument => {
    return { kind: 'refused', exposed, errors };
  };
  try {
    const document = parseWithin(query, limits);
    const { heavy } = guardShape(document, limits);
    exposed = exposure.judge(document);
    const operation = chooseOperation(document, operationName);
    const isQuery = operation.operation === OperationTypeNode.QUERY;
    const asks = isQuery && mentions(document, askingFields);
    if (defer && isQuery && !asks && (heavy || (document.tokenCount ?? 0) > lightTokens)) {
      return { kind: 'deferred', exposed };
    }
    if (defer && heavy) {
      throw new ServiceError('COST_LIMIT', 'Only a document of queries may be as long as this.');
    }
    const invalid = validate(schema, document, undefined, { maxErrors: validationErrorsMax });
    if (invalid.length > 0) {
      return refused(...invalid.map((error) => formatRefusal('GRAPHQL_VALIDATION_FAILED', error)));
    }
    return {
      kind: 'ready',
      exposed,
      document,
      operation,
      operationName,
      cost: staticCost(schema, document, operation),
      repeatable: isQuery && !asks && !mentions(document, logFields),
      asks,
    };
  } catch (error) {
    if (error instanceof ServiceError) return refused(formatServiceError(error));
    if (error instanceof GraphQLError) return refused(formatRefusal('GRAPHQL_PARSE_FAILED', error));
    throw error;
  }
}

function parseWithin(query: string, limits: GraphqlLimits): DocumentNode {
  if (query.length > limits.queryChars) {
    throw new ServiceError(
      'COST_LIMIT',
      `The document is longer than ${limits.queryChars} characters.`,
    );
  }
  try {
    const source = new PlacedSource(query);
    const document = parse(source, { maxTokens: limits.tokens });
    source.endParsing();
    return document;
  } catch (error) {
    // graphql-js tells this bound from a syntax error by its words only.
    if (error instanceof GraphQLError && error.message.includes('Parsing aborted')) {
      throw new ServiceError('COST_LIMIT', `The document has more than ${limits.tokens} tokens.`);
    }
    // Nested brackets below the bound on tokens can still exhaust the parser's stack.
    if (error instanceof RangeError) {
      throw new ServiceError('COST_LIMIT', 'The document nests too deep.');
    }
    throw error;
  }
}

function chooseOperation(
  document: DocumentNode,
  operationName: string | undefined,
): OperationDefinitionNode {
  const operation = getOperationAST(document, operationName);
  if (operation) return operation;
  throw new ServiceError(
    'BAD_USER_INPUT',
    operationName === undefined
      ? 'Name the operation: the document has several or none.'
      : 'The document has no operation of this name.',
  );
}

// Logs and metrics grow without an entry in the journal.
const logFields: ReadonlySet<string> = new Set([
  'log',
  'logTail',
  'logs',
  'lastLines',
  'metrics',
  'traffic',
]);

/** Their resolvers wait for somebody else's answer. */
const askingFields: ReadonlySet<string> = new Set([
  'gitRepositories',
  'instanceStatus',
  'searchLogs',
]);

/** Whether one of the names, or a node of the kind, stands anywhere in the document. */
export function mentions(document: DocumentNode, names: ReadonlySet<string>, kind?: Kind): boolean {
  const look = (node: unknown): boolean => {
    if (typeof node !== 'object' || node === null) return false;
    if (Array.isArray(node)) return node.some(look);
    if (!('kind' in node)) return false;
    if (node.kind === kind) return true;
    if (node.kind === Kind.NAME && 'value' in node && names.has(String(node.value))) return true;
    return Object.entries(node).some(([key, value]) => key !== 'loc' && look(value));
  };
  return look(document);
}

/** One key for text and operation name; a name holds no NUL. */
export function documentKey(query: string, operationName: string | undefined): string {
  return operationName === undefined ? query : `${operationName}\u0000${query}`;
}
