import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildSchema } from 'graphql';
import { outputOf } from '../../../src/mcp/output.ts';

const schema = buildSchema(`
  scalar JSON
  scalar DateTime
  enum Status { ready failed }
  type Query { app(id: ID): App apps(first: Int): Apps! count: Int! loose: JSON }
  type Mutation { stop(id: ID!): Boolean! }
  type Apps { nodes: [App!]! pageInfo: PageInfo! tags: [String] }
  type PageInfo { endCursor: String hasNextPage: Boolean! }
  type App { id: ID! status: Status! at: DateTime score: Float! domains: [Domain!]! live: Domain }
  type Domain { name: String! main: Boolean! }
`);

const properties = (document: string): unknown => outputOf(schema, document)['properties'];

describe('outputOf', () => {
  it('is the object that a document answers with, each member there', () => {
    assert.deepEqual(outputOf(schema, '{ count }'), {
      type: 'object',
      properties: { count: { type: 'integer' } },
      required: ['count'],
    });
    assert.deepEqual(outputOf(schema, 'mutation ($id: ID!) { done: stop(id: $id) }'), {
      type: 'object',
      properties: { done: { type: 'boolean' } },
      required: ['done'],
    });
  });

  it('knows what may be null, and each scalar by its JSON', () => {
    assert.deepEqual(properties('{ app { id status at score } }'), {
      app: {
        type: ['object', 'null'],
        properties: {
          id: { type: 'string' },
          status: { type: 'string' },
          at: { type: ['string', 'null'] },
          score: { type: 'number' },
        },
      },
    });
    assert.deepEqual(properties('{ loose }'), { loose: {} });
  });

  it('tells lists of objects, and what lies deeper as objects', () => {
    assert.deepEqual(
      properties('{ apps { nodes { id live { name } } pageInfo { endCursor } tags } }'),
      {
        apps: {
          type: 'object',
          properties: {
            nodes: {
              type: 'array',
              items: {
                type: 'object',
                properties: { id: { type: 'string' }, live: { type: ['object', 'null'] } },
              },
            },
            pageInfo: { type: 'object' },
            tags: { type: ['array', 'null'], items: { type: ['string', 'null'] } },
          },
        },
      },
    );
  });

  it('refuses documents that are not written out in fields of the schema', () => {
    for (const document of [
      '{ none }',
      '{ ...F } fragment F on Query { count }',
      '{ ... on Query { count } }',
      'fragment F on Query { count } { ...F }',
    ]) {
      assert.throws(() => outputOf(schema, document), document);
    }
  });
});
