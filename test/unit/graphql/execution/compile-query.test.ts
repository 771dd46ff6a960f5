import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  buildSchema,
  execute,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isObjectType,
} from 'graphql';
import { compileQuery } from '../../../../src/graphql/execution/compile-query.ts';
import { defaultLimits, type GraphContext } from '../../../../src/graphql/context.ts';
import { prepare, type ReadyDocument } from '../../../../src/graphql/gate/documents.ts';
import { Exposure } from '../../../../src/graphql/gate/exposure.ts';
import { ofRecord, type RecordResolver } from '../../../../src/graphql/record-fields.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { RecordTexts } from '../../../../src/graphql/execution/record-texts.ts';
import { settings } from '../../../support/graphql-fixture.ts';

type Resolvers = Record<string, GraphQLFieldResolver<unknown, unknown>>;
type Reads = Record<string, RecordResolver>;

const context = { read: { settings } } as GraphContext;

const sdl = `
  scalar JSON
  enum Colour { RED GREEN }
  type Thing { id: ID! text: String int: Int float: Float flag: Boolean colour: Colour json: JSON
    must: String! list: [String!] grid: [[Int]] part: Part parts: [Part!] late: String }
  type Part { name: String }
  type Query { thing: Thing things(first: Int = 2): [Thing!]! say(text: String!, input: [String]): String }
`;

function schemaWith(resolvers: Resolvers, reads: Reads = {}): GraphQLSchema {
  const schema = buildSchema(sdl);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const name = `${type.name}.${field.name}`;
      const resolve = resolvers[name];
      if (resolve) field.resolve = resolve;
      const read = reads[name];
      if (read) Object.assign(field, ofRecord(read));
    }
  }
  return schema;
}

function ready(schema: GraphQLSchema, query: string): ReadyDocument {
  const limits = defaultLimits;
  const exposure = new Exposure(schema);
  const prepared = prepare({ schema, exposure, limits, defer: false }, query, undefined);
  assert(prepared.kind === 'ready', JSON.stringify(prepared));
  return prepared;
}

/** What is written, after it was compared with what graphql-js answers; null for nothing. */
function written(schema: GraphQLSchema, query: string, variables = {}): string | null {
  const document = ready(schema, query);
  const compiled = compileQuery(schema, document, new RecordTexts(), assert.ifError);
  const text = compiled?.(variables, context) ?? null;
  const result = execute({
    schema,
    document: document.document,
    variableValues: variables,
    contextValue: context,
  });
  if (result instanceof Promise || result.errors) assert.equal(text, null);
  else if (text !== null) assert.equal(text, JSON.stringify(result));
  return text;
}

const one = (thing: unknown, query: string): string | null =>
  written(schemaWith({ 'Query.thing': () => thing }), `{ thing { ${query} } }`);

describe('compileQuery()', () => {
  it('writes every kind of leaf as graphql-js and JSON do', () => {
    const texts = ['', 'plain', '"\\\n\u2028', 'é', '\u{1f680}', '\ud800', '\u0000', 'a\udc00b'];
    for (const text of texts) assert.notEqual(one({ text }, 'text'), null);
    for (const text of [1, 1.5, true, null, undefined])
      assert.notEqual(one({ text }, 'text'), null);
    for (const int of [0, -0, 1, -1, 2 ** 31 - 1, true, '7', null]) {
      assert.notEqual(one({ int }, 'int'), null);
    }
    for (const float of [0, -0, 1e21, 1e-7, 0.1, '1.5', false]) {
      assert.notEqual(one({ float }, 'float'), null);
    }
    for (const flag of [true, false, 1, 0]) assert.notEqual(one({ flag }, 'flag'), null);
    for (const id of ['a', 7, 'é"']) assert.notEqual(one({ id }, 'id'), null);
    assert.equal(one({ colour: 'RED' }, 'colour'), '{"data":{"thing":{"colour":"RED"}}}');
    assert.notEqual(one({ json: { a: [1, { b: null }], c: 'x', d: undefined } }, 'json'), null);
  });

  it('writes nothing where graphql-js would answer with an error', () => {
    const broken: [unknown, string][] = [
      [{ must: null }, 'must'],
      [{}, 'must'],
      [{ int: 2 ** 31 }, 'int'],
      [{ int: 1.5 }, 'int'],
      [{ float: NaN }, 'float'],
      [{ float: Infinity }, 'float'],
      [{ flag: 'yes' }, 'flag'],
      [{ id: {} }, 'id'],
      [{ colour: 'BLUE' }, 'colour'],
      [{ text: new Error('no') }, 'text'],
      [{ json: new Error('no') }, 'json'],
      [{ part: new Error('no') }, 'part { name }'],
      [new Error('no'), 'text'],
      [{ list: 7 }, 'list'],
      [{ list: ['a', null] }, 'list'],
      [{ parts: [null] }, 'parts { name }'],
    ];
    for (const [thing, query] of broken) assert.equal(one(thing, query), null, query);
  });

  it('leaves to the interpreter whatever must be called or waited for', () => {
    assert.equal(one({ text: () => 'called' }, 'text'), null);
    assert.equal(one({ part: () => ({ name: 'x' }) }, 'part { name }'), null);
    assert.equal(one({ json: () => 1 }, 'json'), null);
    assert.equal(one(Promise.resolve({ text: 'late' }), 'text'), null);
    assert.equal(one({ json: Promise.resolve(1) }, 'json'), null);
    assert.equal(one({ part: Promise.resolve({}) }, 'part { name }'), null);
    assert.equal(one({ list: new Set(['a']) }, 'list'), null);
  });

  it('writes lists of lists, of objects and with nulls', () => {
    const thing = { grid: [[1, null], null, []], parts: [{ name: 'a' }, { name: null }], list: [] };
    const text = one(thing, 'grid parts { name } list');
    const grid = '"grid":[[1,null],null,[]]';
    const parts = '"parts":[{"name":"a"},{"name":null}]';
    assert.equal(text, `{"data":{"thing":{${grid},${parts},"list":[]}}}`);
  });

  it('merges selections as graphql-js does, and keeps their order', () => {
    const thing = { id: '1', text: 't', int: 2, part: { name: 'n' } };
    const query = `{ thing { ...A int a: id ... on Thing { part { name } text } part { other: name } ...A } }
      fragment A on Thing { text part { __typename } ...B } fragment B on Thing { b: id }`;
    const text = written(schemaWith({ 'Query.thing': () => thing }), query);
    const part = '"part":{"__typename":"Part","name":"n","other":"n"}';
    assert.equal(text, `{"data":{"thing":{"text":"t",${part},"b":"1","int":2,"a":"1"}}}`);
  });

  it('gives arguments by constant, default and variable, anew with each run', () => {
    const schema = schemaWith({
      'Query.things': (_root, args: { first: number }) =>
        Array.from({ length: args.first }, (_, id) => ({ id })),
      'Query.say': (_root, { text, input }: { text: string; input?: string[] }) =>
        `${text}:${JSON.stringify(input)}`,
    });
    const query = `query ($n: Int!, $t: String = "d") { two: things { id } none: things(first: 0) { id }
      some: things(first: $n) { id } a: say(text: $t, input: ["x", $t]) b: say(text: "c", input: null) }`;
    const compiled = compileQuery(schema, ready(schema, query), new RecordTexts(), assert.ifError);
    for (const variables of [{ n: 1 }, { n: 3, t: 'given' }, { n: 1 }]) {
      const text = written(schema, query, variables);
      assert.notEqual(text, null);
      assert.equal(compiled?.(variables, context), text);
    }
    for (const variables of [{}, { n: 'one' }, { n: null }, { n: 1, t: null }]) {
      assert.equal(written(schema, query, variables), null);
    }
  });

  it('asks a resolver again in every run, unless it looks at its record alone', () => {
    let asked = 0;
    const record = Object.freeze({ id: '1', text: 't' });
    const resolvers = { 'Query.thing': () => record, 'Thing.late': () => `asked ${++asked}` };
    const query = '{ thing { id late text } }';
    const changing = schemaWith(resolvers);
    const compiled = compileQuery(
      changing,
      ready(changing, query),
      new RecordTexts(),
      assert.ifError,
    );
    assert.match(compiled?.({}, context) ?? '', /"id":"1","late":"asked 1","text":"t"/);
    assert.match(compiled?.({}, context) ?? '', /"id":"1","late":"asked 2","text":"t"/);

    const reads: Reads = {
      'Thing.late': (thing, { appsDomain }) => {
        assert.equal(thing, record);
        return `asked ${++asked} of ${appsDomain}`;
      },
    };
    const lasting = schemaWith({ 'Query.thing': () => record }, reads);
    const remembered = compileQuery(
      lasting,
      ready(lasting, query),
      new RecordTexts(),
      assert.ifError,
    );
    // Nothing is kept of the first run: most documents never come again.
    assert.match(remembered?.({}, context) ?? '', /"late":"asked 3 of localhost"/);
    assert.match(remembered?.({}, context) ?? '', /"late":"asked 4 of localhost"/);
    assert.match(remembered?.({}, context) ?? '', /"late":"asked 4 of localhost"/);
  });

  it('decides directives as graphql-js does, for each combination of their variables', () => {
    const thing = { id: '1', text: 't', int: 2, part: { name: 'n' } };
    const schema = schemaWith({ 'Query.thing': () => thing });
    const query = `query ($a: Boolean!, $b: Boolean = true) { thing { ...F @skip(if: $a) int
      ... @include(if: $b) { part { name @skip(if: $a) } } ...F part { __typename @include(if: $b) }
      id @include(if: false) } } fragment F on Thing { text id @skip(if: $b) @include(if: $a) }`;
    for (const variables of [
      { a: true },
      { a: false },
      { a: true, b: false },
      { a: false, b: false },
    ]) {
      assert.notEqual(written(schema, query, variables), null);
    }
    for (const variables of [{}, { a: null }, { a: 'yes' }, { a: true, b: null }]) {
      assert.equal(written(schema, query, variables), null);
    }
  });

  it('keeps what one combination wrote of a record apart from what another did', () => {
    const record = Object.freeze({ id: '1', text: 't' });
    const schema = schemaWith({ 'Query.thing': () => record });
    const query = 'query ($a: Boolean!) { thing { id text @include(if: $a) } }';
    const compiled = compileQuery(schema, ready(schema, query), new RecordTexts(), assert.ifError);
    for (let use = 0; use < 3; use++) {
      assert.equal(compiled?.({ a: true }, context), '{"data":{"thing":{"id":"1","text":"t"}}}');
      assert.equal(compiled({ a: false }, context), '{"data":{"thing":{"id":"1"}}}');
    }
  });

  it('leaves what has more combinations than it compiles to the interpreter', () => {
    const schema = schemaWith({ 'Query.thing': () => ({ id: '1' }) });
    const names = ['a', 'b', 'c', 'd'];
    const query = `query (${names.map((name) => `$${name}: Boolean!`).join()}) {
      thing { id ${names.map((name) => `${name}: id @skip(if: $${name})`).join(' ')} } }`;
    const compiled = compileQuery(schema, ready(schema, query), new RecordTexts(), assert.ifError);
    assert(compiled);
    const texts = Array.from({ length: 16 }, (_, bits) => {
      const given = Object.fromEntries(names.map((name, i) => [name, (bits >> i) % 2 === 1]));
      return compiled(given, context);
    });
    assert.equal(texts.filter((text) => text !== null).length, 8);
  });

  it('tells of what fails otherwise than with an error that has words', () => {
    const faults: unknown[] = [];
    const failing = (error: unknown): unknown[] => {
      const schema = schemaWith({
        'Query.thing': () => {
          throw error;
        },
      });
      const document = ready(schema, '{ thing { id } }');
      const compiled = compileQuery(schema, document, new RecordTexts(), (cause) =>
        faults.push(cause),
      );
      assert.equal(compiled?.({}, context), null);
      return faults.splice(0);
    };
    const bug = new TypeError('nobody expects it');
    assert.deepEqual(failing(bug), [bug]);
    assert.deepEqual(failing(new ServiceError('NOT_FOUND', 'No such thing.')), []);
    assert.deepEqual(failing(new GraphQLError('no')), []);
  });

  it('leaves documents that spread to very many fields to the interpreter', () => {
    const schema = schemaWith({ 'Query.thing': () => ({}) });
    const aliases = (prefix: string, count: number, of: string): string =>
      Array.from({ length: count }, (_, i) => `${prefix}${i}: ${of}`).join(' ');
    const query = `{ ${aliases('t', 40, 'thing { ...F }')} } fragment F on Thing { ${aliases('x', 30, 'id')} }`;
    const document = ready(schema, query);
    assert.equal(compileQuery(schema, document, new RecordTexts(), assert.ifError), null);
  });
});
