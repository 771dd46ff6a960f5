/**
 * Owns what a document may look like before anything is made of it: these checks are linear in its
 * text, so that no hostile document reaches validation, which is not.
 */
import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { ServiceError } from '../lib/errors.ts';
import type { GraphqlLimits } from './contract.ts';

type ShapeLimits = Pick<
  GraphqlLimits,
  'depth' | 'aliases' | 'directives' | 'fields' | 'fragments' | 'variables'
>;

/** Throws COST_LIMIT, naming the bound. */
export function guardShape(document: DocumentNode, limits: ShapeLimits): void {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition);
    }
  }
  within('fragments', fragments.size, limits.fragments);
  const seen = { aliases: 0, directives: 0, fields: 0 };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      within('variables', definition.variableDefinitions?.length ?? 0, limits.variables);
    }
    if ('selectionSet' in definition) {
      seen.directives += definition.directives?.length ?? 0;
      count(definition.selectionSet, seen, limits);
    }
  }
  guardDepth(document.definitions, fragments, limits.depth);
}

function count(
  set: SelectionSetNode,
  seen: { aliases: number; directives: number; fields: number },
  limits: ShapeLimits,
): void {
  for (const selection of set.selections) {
    seen.directives += selection.directives?.length ?? 0;
    // Spreads count as fields: comparing fragments is what makes validation slow.
    seen.fields++;
    if (selection.kind === Kind.FIELD && selection.alias) seen.aliases++;
    within('fields', seen.fields, limits.fields);
    within('aliases', seen.aliases, limits.aliases);
    within('directives', seen.directives, limits.directives);
    const below = selection.kind === Kind.FRAGMENT_SPREAD ? null : selection.selectionSet;
    if (below) count(below, seen, limits);
  }
}

/** Depth with fragments followed, each measured once; a cycle is left to validation. */
function guardDepth(
  definitions: readonly DefinitionNode[],
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  limit: number,
): void {
  const depths = new Map<string, number>();
  const depthOf = (set: SelectionSetNode): number => {
    let deepest = 0;
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const below = selection.selectionSet ? depthOf(selection.selectionSet) : 0;
        deepest = Math.max(deepest, 1 + below);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        deepest = Math.max(deepest, depthOf(selection.selectionSet));
      } else {
        deepest = Math.max(deepest, depthOfFragment(selection.name.value));
      }
    }
    within('depth', deepest, limit);
    return deepest;
  };
  const depthOfFragment = (name: string): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    const fragment = fragments.get(name);
    if (!fragment) return 0;
    depths.set(name, 0);
    const depth = depthOf(fragment.selectionSet);
    depths.set(name, depth);
    return depth;
  };
  for (const definition of definitions) {
    if ('selectionSet' in definition) depthOf(definition.selectionSet);
  }
}

function within(what: keyof ShapeLimits, seen: number, limit: number): void {
  if (seen <= limit) return;
  const detail =
    what === 'depth'
      ? `The document nests deeper than ${limit} fields.`
      : `The document has more than ${limit} ${what}.`;
  throw new ServiceError('COST_LIMIT', detail, { extensions: { limit: what, max: limit } });
}
