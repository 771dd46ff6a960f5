/**
 * Owns how documents are written: `graphql('query Name { … }', [fragments])`, typed by schema.graphql
 * through web/api/schema.d.ts. The types alone are gql.tada's; what runs is urql's own parser.
 */
import { gql, type TypedDocumentNode } from '@urql/core';
import type { initGraphQLTada } from 'gql.tada';
import type { introspection } from './schema.d.ts';

export type { ResultOf, VariablesOf } from 'gql.tada';

type Tada = initGraphQLTada<{
  introspection: introspection;
  disableMasking: true;
  scalars: { DateTime: string; JSON: unknown };
}>;

export const graphql = ((text: string, fragments: readonly TypedDocumentNode[] = []) => {
  // As a tagged template with nothing between its fragments.
  const parts = [text, ...fragments.map(() => '')] as unknown as TemplateStringsArray;
  return gql(parts, ...fragments);
}) as unknown as Tada;

/** A name of an enum of the schema, such as `Capability`. */
export type Enum<Name extends keyof introspection['types']> = introspection['types'][Name] extends {
  enumValues: infer Values;
}
  ? Values
  : never;
