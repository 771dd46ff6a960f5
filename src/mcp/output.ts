/**
 * Owns the schema of a tool's answer. It is derived from the tool's document and the GraphQL schema, so
 * that the listed schema fits the answer.
 */
import {
  type FieldNode,
  getNullableType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  Kind,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  type GraphQLObjectType,
} from 'graphql';
import type { JsonSchema } from './tool.ts';

const scalarTypes: Readonly<Record<string, string>> = {
  Int: 'integer',
  Float: 'number',
  Boolean: 'boolean',
};

// Deeper objects are listed as plain objects, because every list takes room in the model's context.
const depthMax = 1;

/** The schema of the `data` of a document's first operation. The selection may hold fields only. */
export function outputOf(schema: GraphQLSchema, document: string): JsonSchema {
  const operation = parse(document).definitions[0];
  if (operation?.kind !== Kind.OPERATION_DEFINITION) {
    throw new Error('The document of a tool begins with its operation.');
  }
  const root =
    operation.operation === OperationTypeNode.MUTATION
      ? schema.getMutationType()
      : schema.getQueryType();
  if (!root) throw new Error(`The schema has no ${operation.operation}.`);
  const object = objectSchema(root, operation.selectionSet, 0);
  return { ...object, required: Object.keys(object.properties) };
}

/**
 * The schema of an answer with a list of objects. Their members are texts unless `others` gives another
 * type.
 */
export function listSchema(
  name: string,
  texts: readonly string[],
  others: JsonSchema = {},
  beside: JsonSchema = {},
): JsonSchema {
  const members = Object.fromEntries(texts.map((text) => [text, { type: 'string' }]));
  const items = { type: 'object', properties: { ...members, ...others } };
  const properties = { [name]: { type: 'array', items }, ...beside };
  return { type: 'object', properties, required: Object.keys(properties) };
}

interface ObjectSchema extends Record<string, unknown> {
  type: 'object';
  properties: Record<string, JsonSchema>;
}

function objectSchema(type: GraphQLObjectType, set: SelectionSetNode, depth: number): ObjectSchema {
  const properties: Record<string, JsonSchema> = {};
  for (const node of set.selections) {
    if (node.kind !== Kind.FIELD) throw new Error('Documents of tools are written out in fields.');
    const field = type.getFields()[node.name.value];
    if (!field) throw new Error(`${type.name} has no field ${node.name.value}.`);
    properties[(node.alias ?? node.name).value] = schemaOf(field.type, node, depth);
  }
  return { type: 'object', properties };
}

function schemaOf(type: GraphQLOutputType, node: FieldNode, depth: number): JsonSchema {
  const schema = presentSchema(type, node, depth);
  if (isNonNullType(type) || schema['type'] === undefined) return schema;
  return { ...schema, type: [schema['type'], 'null'] };
}

function presentSchema(type: GraphQLOutputType, node: FieldNode, depth: number): JsonSchema {
  const present = getNullableType(type);
  if (isListType(present)) {
    return { type: 'array', items: schemaOf(present.ofType, node, 0) };
  }
  if (isObjectType(present)) {
    if (!node.selectionSet || depth >= depthMax) return { type: 'object' };
    return objectSchema(present, node.selectionSet, depth + 1);
  }
  // Any JSON value.
  if (isScalarType(present) && present.name === 'JSON') return {};
  return { type: isScalarType(present) ? (scalarTypes[present.name] ?? 'string') : 'string' };
}
