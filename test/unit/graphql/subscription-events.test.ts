import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildSchema, type GraphQLObjectType } from 'graphql';
import { defaultLimits, type GraphContext } from '../../../src/graphql/context.ts';
import { Executor } from '../../../src/graphql/execution/executor.ts';

const schema = buildSchema(`
  type Query { a: Int }
  type Subscription { tick(to: Int!): Tick! }
  type Tick { n: Int! half: Int! names(first: Int = 2): [String!]! next: Tick }
`);

const fieldsOf = (name: string) => (schema.getType(name) as GraphQLObjectType).getFields();
const { tick } = fieldsOf('Subscription');
const { half, names, next } = fieldsOf('Tick');
if (!tick || !half || !names || !next) throw new Error('The schema has other fields.');
interface Tick {
  n: number;
}
tick.subscribe = async function* (_root: unknown, { to }: { to: number }) {
  for (let n = 1; n <= to; n++) yield await Promise.resolve({ n });
};
tick.resolve = (event: unknown) => event;
half.resolve = ({ n }: Tick) => {
  if (n % 2 === 1) throw new Error('odd');
  return n / 2;
};
names.resolve = ({ n }: Tick, { first }: { first: number }) =>
  Array.from({ length: first }, () => `tick ${n}`);
next.resolve = ({ n }: Tick) => (n > 3 ? null : { n: n + 1 });

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
  const context = { via: 'http' } as GraphContext;
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
    'subscription ($to: Int!) { tick(to: $to) { n @skip(if: true) names } }',
  ]) {
    it(`are what the interpreter gives, errors included: ${query.slice(29)}`, async () => {
      const events = await eventsOf(true, query);
      assert.equal(events.length, 4);
      assert.deepEqual(events, await eventsOf(false, query));
    });
  }
});
