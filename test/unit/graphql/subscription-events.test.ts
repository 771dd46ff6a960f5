import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildSchema, GraphQLError, type GraphQLObjectType } from 'graphql';
import { defaultLimits, type GraphContext } from '../../../src/graphql/context.ts';
import { settings } from '../../support/graphql-fixture.ts';
import { Executor } from '../../../src/graphql/execution/executor.ts';

const schema = buildSchema(`
  type Query { a: Int }
  type Subscription { tick(to: Int!): Tick! }
  type Tick { n: Int! half: Int! names(first: Int = 2): [String!]! next: Tick later: Int! }
`);

const fieldsOf = (name: string) => (schema.getType(name) as GraphQLObjectType).getFields();
const { tick } = fieldsOf('Subscription');
const { half, names, next, later } = fieldsOf('Tick');
if (!tick || !half || !names || !next || !later) throw new Error('The schema has other fields.');
interface Tick {
  n: number;
}
tick.subscribe = async function* (_root: unknown, { to }: { to: number }) {
  for (let n = 1; n <= to; n++) yield await Promise.resolve({ n });
};
tick.resolve = (event: unknown) => event;
half.resolve = ({ n }: Tick) => {
  if (n % 2 === 1) throw new GraphQLError('odd');
  return n / 2;
};
names.resolve = ({ n }: Tick, { first }: { first: number }) =>
  Array.from({ length: first }, () => `tick ${n}`);
next.resolve = ({ n }: Tick) => (n > 3 ? null : { n: n + 1 });

/** By what a field was asked that answers later. */
const askedBy = new Set<string>();
later.resolve = async ({ n }: Tick) => {
  askedBy.add((new Error().stack ?? '').includes('graphql-jit') ? 'graphql-jit' : 'another');
  return Promise.resolve(n * 10);
};

async function eventsOf(compile: boolean, query: string): Promise<string[]> {
  const executor = new Executor({
    schema,
    limits: defaultLimits,
    compile,
    onInternal: () => undefined,
    onFault: assert.ifError,
  });
  const prepared = executor.prepare(query, undefined);
  assert(prepared.kind === 'subscription');
  const context = { via: 'http', read: { settings } } as GraphContext;
  const events: string[] = [];
  for await (const json of prepared.events({ to: 4 }, context)) events.push(json);
  return events;
}

describe('the events of a subscription', () => {
  for (const query of [
    'subscription ($to: Int!) { tick(to: $to) { n names next { n names(first: 1) } } }',
    'subscription ($to: Int!) { t: tick(to: $to) { n ...F } } fragment F on Tick { next { half } }',
    'subscription ($to: Int!) { tick(to: $to) { n half } }',
    'subscription ($to: Int!) { tick(to: $to) { __proto__: n } }',
    'subscription ($to: Int!) { tick(to: $to) { later n next { later } } }',
    'subscription ($to: Int!) { tick(to: $to) { n @skip(if: true) names } }',
  ]) {
    it(`are what the interpreter gives, errors included: ${query.slice(29)}`, async () => {
      const events = await eventsOf(true, query);
      assert.equal(events.length, 4);
      assert.deepEqual(events, await eventsOf(false, query));
    });
  }

  it('are told by graphql-jit where a field answers later', async () => {
    askedBy.clear();
    const events = await eventsOf(true, 'subscription ($to: Int!) { tick(to: $to) { later } }');
    assert.equal(events[3], '{"data":{"tick":{"later":40}}}');
    assert.ok(askedBy.has('graphql-jit'));
  });
});
