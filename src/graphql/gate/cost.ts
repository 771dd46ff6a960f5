/**
 * Owns the static cost of an operation: what it may take at most, known before it runs.
 *
 * A field costs 1, one of a mutation `mutationCost`. What is below a list counts as often as the
 * list may be long: `first` or `tail` as given, by default or by variable, else `listFactor`, for
 * the lists of introspection what this schema holds of them.
 */
import {
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isCompositeType,
  isListType,
  isObjectType,
  isInterfaceType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql';

export const mutationCost = 500;
const listFactor = 50;

// Longer lists of introspection than these are rare, and all of them are in memory.
const introspectionFactors: Readonly<Record<string, number>> = {
  types: 40,
  directives: 6,
  fields: 5,
  args: 1,
  inputFields: 2,
  enumValues: 2,
};

// No list takes more: beyond it the resolver refuses, with a better word than cost.
const sizeMax = 5_000;

const sizeArguments = ['first', 'tail', 'lines'];

/** A count that stands in the document, or the variable (with its default) that holds it. */
type Size = number | { variable: string; preset: number };

interface CostNode {
  own: number;
  factor: Size;
  below: CostNode[];
}

/** The cost of an operation for given variables, raw or coerced. */
export type CostOf = (variables: Readonly<Record<string, unknown>>) => number;

export function staticCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): CostOf {
  const walk = new CostWalk(schema, document, operation);
  const root: CostNode = { own: 0, factor: 1, below: walk.nodes() };
  if (!walk.sizedByVariable) {
    const fixed = evaluate(root, {}, new Map());
    return () => fixed;
  }
  return (variables) => evaluate(root, variables, new Map());
}

class CostWalk {
  readonly #schema: GraphQLSchema;
  readonly #operation: OperationDefinitionNode;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  // A fragment is measured once however often it is spread, so the walk stays linear.
  readonly #measured = new Map<string, CostNode[]>();
  sizedByVariable = false;

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode) {
    this.#schema = schema;
    this.#operation = operation;
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) {
        this.#fragments.set(definition.name.value, definition);
      }
    }
  }

  nodes(): CostNode[] {
    const root = this.#schema.getRootType(this.#operation.operation);
    if (!root) return [];
    const nodes = this.#selections(this.#operation.selectionSet, root, false);
    if (this.#operation.operation !== OperationTypeNode.MUTATION) return nodes;
    return nodes.map((node) => ({ ...node, own: mutationCost }));
  }

  #selections(set: SelectionSetNode, parent: GraphQLNamedType, sized: boolean): CostNode[] {
    return set.selections.flatMap((selection) => {
      switch (selection.kind) {
        case Kind.FIELD:
          return [this.#field(selection, parent, sized)];
        case Kind.INLINE_FRAGMENT: {
          const on = selection.typeCondition?.name.value;
          const type = on === undefined ? parent : (this.#schema.getType(on) ?? parent);
          return this.#selections(selection.selectionSet, type, sized);
        }
        case Kind.FRAGMENT_SPREAD:
          return this.#fragment(selection.name.value, sized);
      }
    });
  }

  #fragment(name: string, sized: boolean): CostNode[] {
    const key = `${String(sized)}:${name}`;
    const known = this.#measured.get(key);
    if (known) return known;
    const fragment = this.#fragments.get(name);
    const type = fragment && this.#schema.getType(fragment.typeCondition.name.value);
    const nodes = fragment && type ? this.#selections(fragment.selectionSet, type, sized) : [];
    // One node that stands for all, so that a thousand spreads share one evaluation.
    const shared: CostNode[] = [{ own: 0, factor: 1, below: nodes }];
    this.#measured.set(key, shared);
    return shared;
  }

  #field(node: FieldNode, parent: GraphQLNamedType, sized: boolean): CostNode {
    const field = this.#definition(parent, node.name.value);
    const type = field && getNamedType(field.type);
    if (!type || !isCompositeType(type) || !node.selectionSet) {
      return { own: 1, factor: 1, below: [] };
    }
    const size = this.#sizeOf(node, field);
    let factor: Size = size ?? 1;
    // The list right below a sized field is the one that was sized.
    if (size === null && !sized && isListType(getNullableType(field.type))) {
      factor = parent.name.startsWith('__')
        ? (introspectionFactors[node.name.value] ?? 5)
        : listFactor;
    }
    return { own: 1, factor, below: this.#selections(node.selectionSet, type, size !== null) };
  }

  #definition(parent: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined {
    if (parent === this.#schema.getQueryType()) {
      if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
      if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
    }
    if (!isObjectType(parent) && !isInterfaceType(parent)) return undefined;
    return parent.getFields()[name];
  }

  #sizeOf(node: FieldNode, field: GraphQLField<unknown, unknown>): Size | null {
    const definition = field.args.find((argument) => sizeArguments.includes(argument.name));
    if (!definition) return null;
    const preset = typeof definition.defaultValue === 'number' ? definition.defaultValue : 1;
    const given = node.arguments?.find((argument) => argument.name.value === definition.name);
    return given ? this.#given(given, preset) : preset;
  }

  #given({ value }: ArgumentNode, preset: number): Size {
    if (value.kind === Kind.INT) return Number(value.value);
    if (value.kind !== Kind.VARIABLE) return preset;
    this.sizedByVariable = true;
    const name = value.name.value;
    const variable = this.#operation.variableDefinitions?.find(
      (definition) => definition.variable.name.value === name,
    );
    const fallback = variable?.defaultValue;
    return {
      variable: name,
      preset: fallback?.kind === Kind.INT ? Number(fallback.value) : preset,
    };
  }
}

/** `memo` holds what was evaluated before: fragments are shared, and spreads of spreads multiply. */
function evaluate(
  node: CostNode,
  variables: Readonly<Record<string, unknown>>,
  memo: Map<CostNode, number>,
): number {
  const known = memo.get(node);
  if (known !== undefined) return known;
  let below = 0;
  for (const child of node.below) below += evaluate(child, variables, memo);
  const cost = node.own + Math.max(sizeNow(node.factor, variables), 1) * below;
  if (node.below.length > 0) memo.set(node, cost);
  return cost;
}

function sizeNow(size: Size, variables: Readonly<Record<string, unknown>>): number {
  if (typeof size === 'number') return Math.min(size, sizeMax);
  const value = variables[size.variable];
  return Math.min(typeof value === 'number' ? value : size.preset, sizeMax);
}
