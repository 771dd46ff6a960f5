import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { getLocation, GraphQLError, parse, Source, validate, visit } from 'graphql';
import { formatRefusal, PlacedSource, placesOf } from '../../../src/graphql/errors.ts';
import { schema } from '../../../src/graphql/schema/schema.ts';
const gap = fc.array(fc.constantFrom(' ', '\n', '\r', '\r\n', ',', '# a comment\n', '\uFEFF'), {
  maxLength: 5,
});

describe('places', () => {
  it('are those that graphql-js gives, for every node and any line ends', () => {
    fc.assert(
      fc.property(fc.array(gap, { minLength: 8, maxLength: 8 }), (gaps) => {
        const [a, b, c, d, e, f, g, h] = gaps.map((one) => one.join(''));
        const text = `${a}query${b} Q${c}{${d}me {${e}id${f}${g}}${h}}`;
        const plain = new Source(text);
        const source = new PlacedSource(text);
        const document = parse(source);
        source.endParsing();
        visit(document, {
          enter(node) {
            const expected = [getLocation(plain, node.loc?.start ?? -1)];
            assert.deepEqual(placesOf(new GraphQLError('', { nodes: node })), expected);
          },
        });
      }),
    );
  });

  it('of several nodes stay in their order', () => {
    const text = '{\n  me {\r\n    nothing\r\n    a: id\n    a: name\n  }\n  nowhere }';
    const source = new PlacedSource(text);
    const document = parse(source);
    source.endParsing();
    const ours = validate(schema, document).map((error) => formatRefusal('BAD_REQUEST', error));
    const theirs = validate(schema, parse(text)).map((error) =>
      formatRefusal('BAD_REQUEST', error),
    );
    assert.equal(ours.length, 3);
    assert.deepEqual(ours, theirs);
  });

  it('of a text that cannot be parsed are as they were said', () => {
    const text = '{\n me {\n id !';
    const source = new PlacedSource(text);
    assert.throws(
      () => parse(source),
      (error) => {
        assert.ok(error instanceof GraphQLError);
        assert.deepEqual(placesOf(error), [{ line: 3, column: 5 }]);
        return true;
      },
    );
  });

  it('are found without counting lines for each', () => {
    const text = `{${'\n'.repeat(60_000)}me { ${'nothing '.repeat(100)}} }`;
    const source = new PlacedSource(text);
    const document = parse(source);
    source.endParsing();
    assert.equal(source.body, '');
    const [first] = validate(schema, document);
    assert.ok(first);
    assert.deepEqual(placesOf(first), [{ line: 60_001, column: 6 }]);
    assert.equal(placesOf(new GraphQLError('nowhere')), undefined);
  });
});
