/**
 * Owns the tools that run a document of the agent's own, and the one that describes the schema.
 *
 * 1. GraphQL itself refuses over MCP what shows a credential or runs a command.
 * 2. A query never changes anything: each tool takes one kind of operation.
 * 3. Operations that MCP refuses are not described: a try would be a waste.
 */
import {
  type GraphQLField,
  type GraphQLSchema,
  isInputObjectType,
  isObjectType,
  isSpecifiedScalarType,
  type GraphQLObjectType,
  printType,
} from 'graphql';
import * as z from 'zod';
import { Exposure } from '../../graphql/gate/exposure.ts';
import type { Tool, ToolArguments, ToolCall, ToolOutcome } from '../tool.ts';
import { toolInput } from '../input.ts';
import { fits } from '../results.ts';

const ofDocument = {
  group: 'graphql',
  idempotent: false,
  needs: null,
  input: toolInput({
    query: z.string().min(1).max(65_536).describe('A GraphQL document.'),
    variables: z.record(z.string(), z.unknown()).optional(),
    operationName: z.string().max(200).optional(),
  }),
  // The answer has the shape that the agent asked for.
  output: null,
} as const;

export function graphqlTools(schema: GraphQLSchema): Tool[] {
  const exposure = new Exposure(schema);
  return [
    {
      name: 'graphql_schema',
      description: 'The GraphQL schema: all operations, or one type or operation by name.',
      group: 'graphql',
      effect: 'reads',
      idempotent: true,
      needs: null,
      input: toolInput({ name: z.string().max(100).optional() }),
      output: null,
      run: (_call, args) => describe(schema, exposure, args['name']),
    },
    {
      ...ofDocument,
      name: 'graphql_query',
      description: 'Run a GraphQL query; graphql_schema says what there is.',
      effect: 'reads',
      run: (call, args) => runDocument(call, args, 'query'),
    },
    {
      ...ofDocument,
      name: 'graphql_mutate',
      description:
        'Run a GraphQL mutation. Fields that show a credential or run a command are refused.',
      effect: 'destroys',
      run: (call, args) => runDocument(call, args, 'mutation'),
    },
  ];
}

// More than can be shown. The text beyond it is not even read.
const readChars = 65_536;

async function runDocument(
  call: ToolCall,
  args: ToolArguments,
  wanted: 'query' | 'mutation',
): Promise<ToolOutcome> {
  const { query, variables, operationName } = args as {
    query: string;
    variables?: Record<string, unknown>;
    operationName?: string;
  };
  const [name, other] =
    wanted === 'query' ? ['graphql_query', 'graphql_mutate'] : ['graphql_mutate', 'graphql_query'];
  const prepared = await call.prepare(query, operationName);
  const kind = prepared.kind === 'deferred' ? 'query' : prepared.kind;
  if (kind !== 'refused' && kind !== wanted) {
    return {
      kind: 'failed',
      sentence: `${name} runs no ${kind}${kind === 'subscription' ? '' : `: call ${other}`}.`,
    };
  }
  const reply = await call.graphql(query, variables ?? {}, {
    operationName,
    prepared,
    charsMax: readChars,
  });
  await call.openSecrets();
  const json = call.redact(`{"data":${reply.dataJson}}`);
  if (reply.clean) return fits(json) ? { kind: 'structured', json } : { kind: 'text', text: json };
  const errors = call.redact(reply.errors.join('\n'));
  // The data beside the errors is useful, too.
  const rest = reply.dataJson === 'null' ? '' : `\n${json}`;
  return { kind: 'failed', sentence: `${errors}${rest}` };
}

function describe(schema: GraphQLSchema, exposure: Exposure, name: unknown): ToolOutcome {
  if (typeof name !== 'string' || name === '') {
    return { kind: 'text', text: overview(schema, exposure) };
  }
  if (exposure.of(name) !== null) {
    return { kind: 'failed', sentence: `${name} is refused over MCP.` };
  }
  const type = schema.getType(name);
  if (type) return { kind: 'text', text: printType(type) };
  const lines = roots(schema).flatMap(([kind, root]) => {
    const field = root.getFields()[name];
    return field ? [`${kind} ${signature(field)}`, ...inputsOf(schema, field)] : [];
  });
  if (lines.length > 0) return { kind: 'text', text: lines.join('\n') };
  const sentence = `There is no type or operation ${name}; without name all are listed.`;
  return { kind: 'failed', sentence };
}

/** Every operation in a line, and the names of the types. */
function overview(schema: GraphQLSchema, exposure: Exposure): string {
  const operations = roots(schema).map(([kind, root]) => {
    const fields = Object.values(root.getFields()).filter(
      (field) => exposure.of(field.name) === null,
    );
    return `${kind}\n${fields.map((field) => `  ${signature(field)}`).join('\n')}`;
  });
  const types = Object.values(schema.getTypeMap())
    .filter((type) => !type.name.startsWith('__') && !isSpecifiedScalarType(type))
    .map(({ name }) => name)
    .filter((name) => !['Query', 'Mutation', 'Subscription'].includes(name));
  return `${operations.join('\n')}\ntypes\n  ${types.join(' ')}`;
}

function roots(schema: GraphQLSchema): [string, GraphQLObjectType][] {
  const found = [
    ['query', schema.getQueryType()],
    ['mutation', schema.getMutationType()],
  ] as const;
  return found.flatMap(([kind, type]) => (type ? [[kind, type]] : []));
}

function signature({ name, args, type }: GraphQLField<unknown, unknown>): string {
  const given = args.map((one) => `${one.name}: ${String(one.type)}`).join(', ');
  return `${name}${given === '' ? '' : `(${given})`}: ${String(type)}`;
}

/** The input types and the answer's type of an operation, printed. */
function inputsOf(schema: GraphQLSchema, field: GraphQLField<unknown, unknown>): string[] {
  const named = [...field.args.map(({ type }) => String(type)), String(field.type)];
  return named.flatMap((text) => {
    const type = schema.getType(text.replace(/[[\]!]/g, ''));
    return type && (isInputObjectType(type) || isObjectType(type)) ? [printType(type)] : [];
  });
}
