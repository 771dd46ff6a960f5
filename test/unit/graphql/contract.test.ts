import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import {
  BreakingChangeType,
  buildSchema,
  findBreakingChanges,
  type GraphQLField,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isRequiredArgument,
  isRequiredInputField,
  isObjectType,
} from 'graphql';
import { directivesOf } from '../../../src/graphql/gate/exposure.ts';
import { schemaText } from '../../../src/commands/print-schema.ts';
import { schema } from '../../../src/graphql/schema/schema.ts';

// What the contract holds and is not built yet. It shrinks; nothing is ever added to it.
const missing: string[] = [];

// What inputs and fields take beyond the contract. All of it may be left out.
const grown = [
  'Mutation.updateApp.edge', 'GitSourceInput.submodules', 'GitSourceInput.watchPaths',
  'Query.logs.at', 'Query.logs.from', 'Query.searchLogs.caseSensitive', 'Query.searchLogs.container',
  'Mutation.removeServer.force',
]; // prettier-ignore

const contract = buildSchema(
  await readFile(new URL('../../fixtures/graphql-core.graphql', import.meta.url), 'utf8'),
);
const built = schema;

describe('the schema', () => {
  it('lacks of the contract exactly what is listed as not built yet', () => {
    const absent: string[] = [];
    for (const [name, type] of Object.entries(contract.getTypeMap())) {
      const ours = built.getType(name);
      if (!ours) absent.push(name);
      else if (isObjectType(type) && isObjectType(ours)) {
        for (const field of Object.keys(type.getFields())) {
          if (!ours.getFields()[field]) absent.push(`${name}.${field}`);
        }
      }
    }
    assert.deepEqual(absent.sort(), [...missing].sort());
  });

  it('breaks nothing else of the contract', () => {
    const gone: string[] = [BreakingChangeType.TYPE_REMOVED, BreakingChangeType.FIELD_REMOVED];
    const breaking = findBreakingChanges(contract, built);
    assert.deepEqual(
      breaking.filter((change) => !gone.includes(change.type)),
      [],
    );
    assert.equal(breaking.length, missing.length);
  });

  it('has the exact types, arguments, defaults and directives of every field it has', () => {
    for (const [coordinate, field, ours] of commonFields(contract, built)) {
      assert.equal(signature(ours, coordinate), signature(field, coordinate), coordinate);
      const marks = (field.astNode?.directives ?? []).map((node) => node.name.value);
      assert.deepEqual(directivesOf(ours.extensions), marks, coordinate);
    }
  });

  it('has the exact values of every enum and fields of every input it has', () => {
    for (const [name, type] of Object.entries(contract.getTypeMap())) {
      const ours = built.getType(name);
      if (isEnumType(type) && isEnumType(ours)) {
        const values = (of: typeof type) =>
          of
            .getValues()
            .map((value) => value.name)
            .sort();
        assert.deepEqual(values(ours), values(type), name);
      }
      if (isInputObjectType(type) && isInputObjectType(ours)) {
        const fields = (of: typeof type) =>
          Object.values(of.getFields())
            .filter((f) => isRequiredInputField(f) || !grown.includes(`${name}.${f.name}`))
            .map((f) => `${f.name}: ${String(f.type)} = ${JSON.stringify(f.defaultValue)}`)
            .sort();
        assert.deepEqual(fields(ours), fields(type), name);
      }
    }
  });

  it('is what schema.graphql at the root says', async () => {
    const stored = await readFile(new URL('../../../schema.graphql', import.meta.url), 'utf8');
    assert.equal(stored, schemaText(built));
  });
});

type AnyField = GraphQLField<unknown, unknown>;

function* commonFields(a: GraphQLSchema, b: GraphQLSchema): Iterable<[string, AnyField, AnyField]> {
  for (const [name, type] of Object.entries(a.getTypeMap())) {
    const other = b.getType(name);
    if (name.startsWith('__') || !isObjectType(type) || !isObjectType(other)) continue;
    for (const field of Object.values(type.getFields())) {
      const ours = other.getFields()[field.name];
      if (ours) yield [`${name}.${field.name}`, field, ours];
    }
  }
}

function signature(field: AnyField, coordinate: string): string {
  const args = field.args
    .filter((arg) => isRequiredArgument(arg) || !grown.includes(`${coordinate}.${arg.name}`))
    .sort((a, b) => a.name.localeCompare(b.name))
    .map((arg) => `${arg.name}: ${String(arg.type)} = ${JSON.stringify(arg.defaultValue)}`);
  return `(${args.join(', ')}): ${String(field.type)}`;
}
