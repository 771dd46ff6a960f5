/**
 * Owns the schema builder's types and the few shapes every topic uses: scalars, enums, directives
 * and connections.
 */
import SchemaBuilder from '@pothos/core';
import {
  DirectiveLocation,
  GraphQLDirective,
  GraphQLError,
  Kind,
  specifiedDirectives,
} from 'graphql';
import { capabilities } from '../../lib/capabilities.ts';
import type { GraphContext } from '../context.ts';

interface BuilderTypes {
  Context: GraphContext;
  DefaultFieldNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    /** Milliseconds since the epoch inside, ISO 8601 UTC with milliseconds outside. */
    DateTime: { Input: number; Output: number };
    JSON: { Input: unknown; Output: unknown };
  };
}

export type Builder = PothosSchemaTypes.SchemaBuilder<
  PothosSchemaTypes.ExtendDefaultTypes<BuilderTypes>
>;

/** A field that returns a credential; MCP refuses it by this. */
export const secret = { extensions: { directives: ['secret'] } } as const;

/** A field that runs a command; MCP refuses it by this. */
export const exec = { extensions: { directives: ['exec'] } } as const;

export const schemaDirectives = [
  ...specifiedDirectives,
  new GraphQLDirective({ name: 'secret', locations: [DirectiveLocation.FIELD_DEFINITION] }),
  new GraphQLDirective({ name: 'exec', locations: [DirectiveLocation.FIELD_DEFINITION] }),
];

export function createBuilder(): Builder {
  const builder = new SchemaBuilder<BuilderTypes>({ defaultFieldNullability: false });
  builder.scalarType('DateTime', {
    description: 'ISO 8601, UTC, with milliseconds.',
    serialize: isoTexts(),
    parseValue: parseDateTime,
    parseLiteral: (node) => parseDateTime(node.kind === Kind.STRING ? node.value : undefined),
  });
  builder.scalarType('JSON', {
    description: 'Any JSON value.',
    serialize: (value) => value,
  });
  return builder;
}

/** The same few times are asked for again and again, and to write one costs more than to find it. */
function isoTexts(): (ms: number) => string {
  const texts = new Map<number, string>();
  return (ms) => {
    const known = texts.get(ms);
    if (known !== undefined) return known;
    const text = new Date(ms).toISOString();
    if (texts.size >= isoTextsMax) texts.clear();
    texts.set(ms, text);
    return text;
  };
}

const isoTextsMax = 10_000;
const isoDateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

function parseDateTime(value: unknown): number {
  const ms = typeof value === 'string' && isoDateTime.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(ms)) {
    throw new GraphQLError(
      'A DateTime is ISO 8601 with a time zone, such as 2026-01-31T12:00:00.000Z.',
    );
  }
  return ms;
}

/** The types that several topics share. */
export function addShared(builder: Builder) {
  const capability = builder.enumType('Capability', { values: capabilities });
  const pageInfo = builder.objectRef<{ endCursor: string | null; hasNextPage: boolean }>(
    'PageInfo',
  );
  pageInfo.implement({
    fields: (t) => ({
      endCursor: t.exposeString('endCursor', { nullable: true }),
      hasNextPage: t.exposeBoolean('hasNextPage'),
    }),
  });
  return { capability, pageInfo };
}

export type Shared = ReturnType<typeof addShared>;
