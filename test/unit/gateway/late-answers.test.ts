import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Exchange, ResponseStream, Route } from '../../../src/gateway/transport.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway } from '../../support/gateway.ts';
import { startGraphql } from '../../support/graphql-gateway.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const answerMs = 120_000;

/** A gateway whose clock is moved, with one route that answers when it is told to. */
async function gatewayWith(t: TestContext, route: Partial<Route> = {}) {
  const clock = new ManualClock();
  const handled = Promise.withResolvers<Exchange>();
  const answers = Promise.withResolvers<(exchange: Exchange) => void>();
  const handle = async (exchange: Exchange): Promise<void> => {
    handled.resolve(exchange);
    (await answers.promise)(exchange);
  };
  const path = '/slow';
  const gateway = await startGateway([{ method: 'GET', path, handle, ...route }], {
    clock,
    limits: { answerMs },
  });
  t.after(() => gateway.close());
  const metric = (why: string): number =>
    gateway.gateway.metrics
      .families()
      .find(({ name }) => name === 'gangway_http_dropped_answers_total')
      ?.samples.find(({ labels }) => labels?.['why'] === why)?.value ?? NaN;
  const dropped = (): object[] =>
    gateway.records.filter(({ event }) => event === 'answer_dropped').map(({ fields }) => fields);
  return { ...gateway, clock, handled: handled.promise, answer: answers.resolve, metric, dropped };
}

type Served = Awaited<ReturnType<typeof gatewayWith>>;

/** Asks, and lets the time for the answer pass. */
async function unanswered(served: Served): Promise<{ response: Response; exchange: Exchange }> {
  const asking = fetch(`${served.url}/slow`);
  const exchange = await served.handled;
  await served.clock.advance(answerMs * 2);
  return { response: await asking, exchange };
}

const ways: Record<string, (exchange: Exchange) => void> = {
  'a whole answer': (exchange) => exchange.json(200, 'late'),
  'lent bytes': (exchange) => exchange.sendLent(200, {}, Buffer.from('late')),
  'a large answer': (exchange) => exchange.send(200, {}, Buffer.alloc(300_000)),
  'a problem': (exchange) => exchange.problem(new ServiceError('CONFLICT', 'Late.')),
  'a stream': (exchange) => {
    const stream = exchange.stream(200, {});
    assert.equal(stream.closed, true);
    assert.equal(stream.write('late'), false);
    stream.end('late');
  },
  'a refusal': () => {
    throw new ServiceError('CONFLICT', 'Late.');
  },
  'a bug': () => {
    throw new Error('late');
  },
};

describe('an exchange that was answered for', () => {
  for (const [name, answer] of Object.entries(ways)) {
    it(`drops ${name}, and says so`, async (t) => {
      const served = await gatewayWith(t);
      const { response } = await unanswered(served);
      assert.equal(response.status, 504);
      assert.equal(((await response.json()) as { code: string }).code, 'DEADLINE_EXCEEDED');
      served.answer(answer);
      await eventually('it is dropped', () => served.metric('late') === 1);
      const [{ route, why } = assert.fail('nothing is logged')] = served.dropped() as {
        route: string;
        why: string;
      }[];
      assert.deepEqual({ route, why }, { route: '/slow', why: 'late' });
      assert.equal(served.dropped().length, 1);
    });
  }

  it('is left in the eyes of its handler, whenever that looks', async (t) => {
    const served = await gatewayWith(t);
    const asking = fetch(`${served.url}/slow`);
    const exchange = await served.handled;
    const { signal } = exchange;
    let told = 0;
    exchange.onAbort(() => (told += 1));
    await served.clock.advance(answerMs * 2);
    await asking;
    assert.deepEqual([exchange.aborted, signal.aborted, told], [true, true, 1]);
    exchange.onAbort(() => (told += 1));
    await eventually('it is told', () => told === 2);
    served.answer((late) => late.json(200, 'late'));
  });
});

describe('an exchange that has been answered', () => {
  for (const [name, answer] of Object.entries(ways).slice(0, 5)) {
    it(`drops ${name} behind a whole answer`, async (t) => {
      const served = await gatewayWith(t);
      served.answer((exchange) => {
        exchange.json(200, 'first');
        answer(exchange);
      });
      assert.equal(await (await fetch(`${served.url}/slow`)).json(), 'first');
      assert.equal(served.metric('again'), 1);
      assert.equal(served.dropped().length, 1);
    });

    it(`drops ${name} amid a stream, which goes on`, async (t) => {
      const served = await gatewayWith(t);
      const opened = Promise.withResolvers<ResponseStream>();
      served.answer((exchange) => {
        const stream = exchange.stream(200, {});
        stream.write('first ');
        answer(exchange);
        opened.resolve(stream);
      });
      const response = await fetch(`${served.url}/slow`);
      (await opened.promise).end('last');
      assert.equal(await response.text(), 'first last');
      assert.equal(served.metric('again'), 1);
    });

    it(`drops ${name} when the client has left, without a word`, async (t) => {
      const served = await gatewayWith(t);
      const client = new AbortController();
      const asking = fetch(`${served.url}/slow`, { signal: client.signal });
      const exchange = await served.handled;
      client.abort();
      await assert.rejects(asking);
      await eventually('the client has left', () => exchange.aborted);
      served.answer(answer);
      // Whatever it did is done, and the gateway serves.
      assert.equal((await fetch(`${served.url}/none`)).status, 404);
      assert.deepEqual([served.metric('late'), served.metric('again')], [0, 0]);
    });
  }

  it('keeps a handler from answering the next request', async (t) => {
    let first: Exchange | undefined;
    const handle = async (exchange: Exchange): Promise<void> => {
      exchange.send(200, {}, first === undefined ? 'one' : 'two');
      first ??= exchange;
      await Promise.resolve();
      throw new Error('behind the answer');
    };
    const served = await gatewayWith(t, { handle });
    assert.equal(await (await fetch(`${served.url}/slow`)).text(), 'one');
    first?.send(200, {}, 'again');
    assert.equal(await (await fetch(`${served.url}/slow`)).text(), 'two');
    assert.equal(served.metric('again'), 1);
    assert.equal(served.records.filter(({ event }) => event === 'request_failed').length, 2);
  });
});

describe('POST /api/graphql that was answered for', () => {
  const graphqlType = 'application/graphql-response+json; charset=utf-8';
  const plainType = 'application/json; charset=utf-8';
  const takers: [accept: string, type: string][] = [
    ['application/graphql-response+json', graphqlType],
    ['application/json', plainType],
    ['*/*', plainType],
    ['text/event-stream', plainType],
  ];
  for (const [accept, type] of takers) {
    it(`is a GraphQL error for who accepts ${accept}`, async (t) => {
      const clock = new ManualClock();
      const begun = Promise.withResolvers<undefined>();
      const ended = Promise.withResolvers<never>();
      const api = await startGraphql({ gateway: { clock, limits: { answerMs } } });
      t.after(() => api.close());
      api.graphql.load = () => {
        begun.resolve(undefined);
        return ended.promise;
      };
      const asking = api.post({ query: '{ needsSetup }' }, { accept });
      await begun.promise;
      await clock.advance(answerMs * 2);
      const response = await asking;
      assert.equal(response.status, 504);
      assert.equal(response.headers.get('content-type'), type);
      const { errors } = (await response.json()) as {
        errors: { message: string; extensions: { code: string; requestId: string } }[];
      };
      assert.equal(errors[0]?.extensions.code, 'DEADLINE_EXCEEDED');
      assert.equal(errors[0].extensions.requestId, response.headers.get('x-request-id'));
      ended.reject(new ServiceError('OVERLOADED', 'Late.'));
      const isDropped = (): boolean =>
        api.gateway.records.some(({ event }) => event === 'answer_dropped');
      await eventually('it is dropped', isDropped);
    });
  }
});
