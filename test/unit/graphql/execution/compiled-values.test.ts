import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buildSchema,
  type FieldNode,
  getArgumentValues,
  getVariableValues,
  type GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql';
import {
  argumentsReader,
  variablesReader,
} from '../../../../src/graphql/execution/compiled-values.ts';

const schema = buildSchema(`
  scalar JSON
  enum Colour { RED GREEN }
  input Size { width: Int! = 3 height: Int }
  type Query {
    plain(text: String, id: ID, int: Int = 7, flag: Boolean): String
    must(text: String!, int: Int! = 5): String
    other(json: JSON, colour: Colour = RED, size: Size, ids: [ID!], float: Float): String
  }
`);

/** Everything that a client may send for one of them, and some that no client can. */
const values: readonly unknown[] = [
  'text',
  '',
  '7',
  0,
  -0,
  7,
  1.5,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 31,
  NaN,
  true,
  false,
  null,
  undefined,
  [],
  ['a'],
  {},
  'RED',
  { width: 1 },
];

function operationOf(text: string): { operation: OperationDefinitionNode; field: FieldNode } {
  const document = parse(text);
  assert.deepEqual(validate(schema, document), []);
  const [operation] = document.definitions;
  assert(operation?.kind === Kind.OPERATION_DEFINITION);
  const [field] = operation.selectionSet.selections;
  assert(field?.kind === Kind.FIELD);
  return { operation, field };
}

/** Compares with graphql-js what is read of a document's variables and its field's arguments. */
function compare(text: string, given: Readonly<Record<string, unknown>>): void {
  const { operation, field } = operationOf(text);
  const definitions = operation.variableDefinitions ?? [];
  const wanted = getVariableValues(schema, definitions, given).coerced;
  const read = variablesReader(schema, definitions)(given);
  assert.deepEqual(read && { ...read }, wanted && { ...wanted }, text);
  if (read === undefined || wanted === undefined) return;
  const definition = schema.getQueryType()?.getFields()[field.name.value];
  assert(definition);
  const args = (): unknown => argumentsReader(definition, field).read(read);
  try {
    assert.deepEqual(args(), getArgumentValues(definition, field, wanted), text);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    assert.throws(args, { message: (error as GraphQLError).message });
  }
}

const documents = [
  'query ($v: String) { plain(text: $v) }',
  'query ($v: ID) { plain(id: $v, int: 3) }',
  'query ($v: Int) { plain(int: $v, text: "x", flag: null) }',
  'query ($v: Boolean) { plain(flag: $v) }',
  'query ($v: Int = 4) { plain(int: $v) }',
  'query ($v: String!) { must(text: $v) }',
  'query ($v: Int) { must(text: "x", int: $v) }',
  'query ($v: Int = 9) { must(text: "x", int: $v) }',
  'query ($v: String = "x") { must(text: $v) }',
  'query ($v: JSON) { other(json: $v) }',
  'query ($v: JSON) { other(json: {a: [$v]}, colour: GREEN) }',
  'query ($v: Colour) { other(colour: $v) }',
  'query ($v: Size) { other(size: $v, float: 1) }',
  'query ($v: Int) { other(size: {width: 1, height: $v}) }',
  'query ($v: [ID!]) { other(ids: $v) }',
  'query ($v: ID!) { other(ids: [$v, "b"]) }',
  'query ($v: Float) { other(float: $v, ids: "a") }',
  'query ($__proto__: String) { plain(text: $__proto__) }',
  'query ($toString: String) { plain(text: $toString) }',
];

describe('variablesReader() and argumentsReader()', () => {
  for (const text of documents) {
    it(`read what graphql-js reads: ${text}`, () => {
      const name = /\$(\w+)/.exec(text)?.[1] ?? '';
      compare(text, {});
      for (const value of values) {
        compare(text, { [name]: value });
        compare(text, { [name]: value, more: 1 });
      }
      compare(text, JSON.parse(`{"${name}":"x"}`) as Record<string, unknown>);
    });
  }

  it('tell arguments that depend on no variable, and read them at once', () => {
    const { field } = operationOf('{ plain(text: "x") }');
    const definition = schema.getQueryType()?.getFields()['plain'];
    assert(definition);
    const { variable, read } = argumentsReader(definition, field);
    assert.equal(variable, false);
    assert.equal(read({}), read({}));
    assert.deepEqual(read({}), { text: 'x', int: 7 });
  });
});
