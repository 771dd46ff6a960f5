/**
 * Owns the schema builder and the few shapes every topic uses: scalars, directives, capabilities and
 * pages of lists.
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
import type { Page } from '../page.ts';

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

export const builder = new SchemaBuilder<BuilderTypes>({ defaultFieldNullability: false });
builder.queryType();
builder.mutationType();
builder.subscriptionType();

/** A field that returns a credential; MCP refuses it by this. */
export const secret = { extensions: { directives: ['secret'] } } as const;

/** A field that runs a command; MCP refuses it by this. */
export const exec = { extensions: { directives: ['exec'] } } as const;

export const schemaDirectives = [
  ...specifiedDirectives,
  new GraphQLDirective({ name: 'secret', locations: [DirectiveLocation.FIELD_DEFINITION] }),
  new GraphQLDirective({ name: 'exec', locations: [DirectiveLocation.FIELD_DEFINITION] }),
];

builder.scalarType('DateTime', {
  description: 'ISO 8601, UTC, with milliseconds.',
  serialize: isoTexts(),
  parseValue: parseDateTime,
  parseLiteral: (node) => parseDateTime(node.kind === Kind.STRING ? node.value : undefined),
});
builder.scalarType('JSON', { description: 'Any JSON value.', serialize: (value) => value });

export const CapabilityType = builder.enumType('Capability', { values: capabilities });

const PageInfoType = builder.objectRef<Page<unknown>['pageInfo']>('PageInfo').implement({
  fields: (t) => ({
    endCursor: t.exposeString('endCursor', { nullable: true }),
    hasNextPage: t.exposeBoolean('hasNextPage'),
  }),
});

type SchemaTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never;

/** The type of a page of a list. */
export function connectionType<T, P extends Page<T> = Page<T>>(
  name: string,
  node: PothosSchemaTypes.ObjectRef<SchemaTypes, T>,
): PothosSchemaTypes.ObjectRef<SchemaTypes, P> {
  return builder.objectRef<P>(name).implement({
    fields: (t) => ({
      nodes: t.field({ type: [node], resolve: (page) => page.nodes as never }),
      pageInfo: t.field({ type: PageInfoType, resolve: (page) => page.pageInfo }),
    }),
  });
}

/** The same few times are asked for again and again; to write one takes 2 us, to find it a tenth of one. */
function isoTexts(): (ms: number) => string {
  const texts = new Map<number, string>();
  return (ms) => {
    const known = texts.get(ms);
    if (known !== undefined) return known;
    const text = new Date(ms).toISOString();
    if (texts.size >= 10_000) texts.clear();
    texts.set(ms, text);
    return text;
  };
}

function parseDateTime(value: unknown): number {
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
  const ms = typeof value === 'string' && form.test(value) ? Date.parse(value) : NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new GraphQLError(
    'A DateTime is ISO 8601 with a time zone, such as 2026-01-31T12:00:00.000Z.',
  );
}
