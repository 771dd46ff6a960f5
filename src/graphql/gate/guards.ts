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
import { ServiceError } from '../../lib/errors.ts';
import type { GraphqlLimits } from '../context.ts';

type ShapeLimits = Pick<
  GraphqlLimits,
  'depth' | 'aliases' | 'directives' | 'fields' | 'fragments' | 'repeats' | 'variables'
>;

/** How much of each there is in a document, fragments counted once. */
interface Shape {
  aliases: number;
  directives: number;
  /** Spreads among them: comparing fragments is what makes validation slow. */
  fields: number;
}

// Validation of anything up to this takes about a millisecond.
const lightFields = 150;
const lightFragments = 15;

/** Throws COST_LIMIT, naming the bound. Tells whether validation may take long. */
export function guardShape(document: DocumentNode, limits: ShapeLimits): { heavy: boolean } {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition);
    }
  }
  within('fragments', fragments.size, limits);
  const shape: Shape = { aliases: 0, directives: 0, fields: 0 };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      within('variables', definition.variableDefinitions?.length ?? 0, limits);
    }
    if ('selectionSet' in definition) {
      shape.directives += definition.directives?.length ?? 0;
      measure(definition.selectionSet, shape, limits);
    }
  }
  guardDepth(document.definitions, fragments, limits);
  return { heavy: shape.fields > lightFields || fragments.size > lightFragments };
}

function measure(set: SelectionSetNode, shape: Shape, limits: ShapeLimits): void {
  const keys = new Map<string, number>();
  for (const selection of set.selections) {
    shape.directives += selection.directives?.length ?? 0;
    shape.fields++;
    const spread = selection.kind === Kind.FRAGMENT_SPREAD;
    if (selection.kind === Kind.FIELD) {
      if (selection.alias) shape.aliases++;
      const key = (selection.alias ?? selection.name).value;
      const repeats = (keys.get(key) ?? 0) + 1;
      keys.set(key, repeats);
      within('repeats', repeats, limits);
    }
    within('fields', shape.fields, limits);
    within('aliases', shape.aliases, limits);
    within('directives', shape.directives, limits);
    const below = spread ? null : selection.selectionSet;
    if (below) measure(below, shape, limits);
  }
}

/** Depth with fragments followed, each measured once; a cycle is left to validation. */
function guardDepth(
  definitions: readonly DefinitionNode[],
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  limits: ShapeLimits,
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
    within('depth', deepest, limits);
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

function within(what: keyof ShapeLimits, seen: number, limits: ShapeLimits): void {
  const limit = limits[what];
  if (seen <= limit) return;
  throw new ServiceError('COST_LIMIT', sentence(what, limit), {
    extensions: { limit: what, max: limit },
  });
}

function sentence(what: keyof ShapeLimits, limit: number): string {
  if (what === 'depth') return `The document nests deeper than ${limit} fields.`;
  if (what === 'repeats') return `The document selects one field more than ${limit} times.`;
  return `The document has more than ${limit} ${what}.`;
}
