/**
 * Owns the values of compiled queries: variables and arguments, of which as much as can be is worked out
 * once for each document, and the JSON of scalars and enums.
 *
 * 1. Values are those that graphql-js gives. What is not plain to see is left to it: types of our own,
 *    presets of variables, numbers for ids, and everything that is an error.
 */
import {
  type ArgumentNode,
  BREAK,
  type FieldNode,
  getArgumentValues,
  getVariableValues,
  type GraphQLArgument,
  GraphQLBoolean,
  type GraphQLField,
  GraphQLID,
  GraphQLInt,
  type GraphQLLeafType,
  type GraphQLNamedType,
  type GraphQLSchema,
  GraphQLString,
  isEnumType,
  isNonNullType,
  Kind,
  type VariableDefinitionNode,
  visit,
} from 'graphql';

export type Values = Readonly<Record<string, unknown>>;

const noValues: Values = Object.freeze({});

type Field = GraphQLField<unknown, unknown>;

/** Reads the variables of a request; undefined where they do not fit. */
export function variablesReader(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): (given: Values) => Values | undefined {
  if (definitions.length === 0) return () => noValues;
  const slow = (given: Values) => getVariableValues(schema, definitions, given).coerced;
  const plain = definitions.map((definition) => plainVariable(schema, definition));
  if (!plain.every((variable) => variable !== null)) return slow;
  return (given) => {
    const values: Record<string, unknown> = {};
    for (const { name, required, takes } of plain) {
      if (Object.hasOwn(given, name)) {
        const value = given[name];
        if (!takes(value)) return slow(given);
        values[name] = value;
      } else if (required) return slow(given);
    }
    return values;
  };
}

interface PlainVariable {
  name: string;
  required: boolean;
  takes: (value: unknown) => boolean;
}

/** What each of them takes as it is. */
const plainTypes: ReadonlyMap<GraphQLNamedType, (value: unknown) => boolean> = new Map<
  GraphQLNamedType,
  (value: unknown) => boolean
>([
  [GraphQLString, (value) => typeof value === 'string'],
  [GraphQLID, (value) => typeof value === 'string'],
  [GraphQLBoolean, (value) => typeof value === 'boolean'],
  [GraphQLInt, (value) => typeof value === 'number' && (value | 0) === value],
]);

function plainVariable(
  schema: GraphQLSchema,
  { variable, type, defaultValue }: VariableDefinitionNode,
): PlainVariable | null {
  const name = variable.name.value;
  const required = type.kind === Kind.NON_NULL_TYPE;
  const named = required ? type.type : type;
  if (named.kind !== Kind.NAMED_TYPE || defaultValue || name === '__proto__') return null;
  const present = schema.getType(named.name.value);
  const takes = present && plainTypes.get(present);
  if (!takes) return null;
  return { name, required, takes: required ? takes : (value) => value === null || takes(value) };
}

/**
 * Reads the arguments of a field from coerced variables. Throws where they do not fit; at once where
 * they depend on none.
 */
export function argumentsReader(
  field: Field,
  node: FieldNode,
): { variable: boolean; read: (variables: Values) => Values } {
  if (field.args.length === 0) return { variable: false, read: () => noValues };
  const given = node.arguments ?? [];
  if (!hasVariable(given)) {
    const values = getArgumentValues(field, node);
    return { variable: false, read: () => values };
  }
  const slow = (variables: Values) => getArgumentValues(field, node, variables);
  const plain = field.args.map((argument) => plainArgument(field, node, argument));
  if (!plain.every((argument) => argument !== null)) return { variable: true, read: slow };
  return {
    variable: true,
    read: (variables) => {
      const values: Record<string, unknown> = {};
      for (const { name, variable, preset, required } of plain) {
        if (variable !== null && Object.hasOwn(variables, variable)) {
          const value = variables[variable];
          if (value == null && (required || value === undefined)) return slow(variables);
          values[name] = value;
        } else if (preset !== undefined) values[name] = preset;
        else if (required) return slow(variables);
      }
      return values;
    },
  };
}

interface PlainArgument {
  name: string;
  /** The variable that it is. */
  variable: string | null;
  /** What it is where there is no variable, or none was given. */
  preset: unknown;
  required: boolean;
}

function plainArgument(
  field: Field,
  node: FieldNode,
  { name, type, defaultValue: preset }: GraphQLArgument,
): PlainArgument | null {
  const required = isNonNullType(type);
  const given = node.arguments?.find((one) => one.name.value === name);
  if (!given) return { name, variable: null, preset, required };
  if (given.value.kind === Kind.VARIABLE) {
    return { name, variable: given.value.name.value, preset, required };
  }
  if (hasVariable([given])) return null;
  const alone = { ...field, args: field.args.filter((one) => one.name === name) };
  const values = getArgumentValues(alone, { ...node, arguments: [given] });
  return { name, variable: null, preset: values[name], required };
}

function hasVariable(nodes: readonly ArgumentNode[]): boolean {
  let found = false;
  const look = (): typeof BREAK => {
    found = true;
    return BREAK;
  };
  for (const node of nodes) visit(node, { Variable: look });
  return found;
}

/** What a writer refuses: graphql-js answers it. */
export class Unclear extends Error {}

/** Writes a value that is not null. Throws what the type throws, and `Unclear` for what has no JSON. */
export function leafWriter(type: GraphQLLeafType): (value: unknown) => string {
  if (isEnumType(type)) {
    const names = new Map(
      type.getValues().map(({ name, value }) => [value as unknown, `"${name}"`]),
    );
    return (value) => names.get(value) ?? textOf(type.serialize(value));
  }
  const write = (value: unknown): string => {
    if (value instanceof Error || value instanceof Promise || typeof value === 'function') {
      throw new Unclear();
    }
    return textOf(type.serialize(value));
  };
  if (type.name !== 'String' && type.name !== 'ID') return write;
  return (value) => (typeof value === 'string' ? JSON.stringify(value) : write(value));
}

function textOf(value: unknown): string {
  const text = value == null ? undefined : JSON.stringify(value);
  if (text === undefined) throw new Unclear();
  return text;
}
