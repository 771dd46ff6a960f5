import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SignedIn } from '../../../../src/auth/callers/principal.ts';
import type { Exchange, ResponseStream } from '../../../../src/gateway/transport.ts';
import { McpStreams } from '../../../../src/gateway/transports/mcp-streams.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

/** A client at the other end of an exchange. */
class Visitor {
  written = '';
  ended = false;
  closed = false;
  #onAbort: (() => void)[] = [];
  readonly exchange: Exchange;

  constructor() {
    const stream: ResponseStream = {
      closed: false,
      write: (chunk) => {
        assert.ok(!this.closed, 'nothing is written to who left');
        this.written += String(chunk);
        return true;
      },
      onWritable: () => undefined,
      end: () => {
        assert.ok(!this.ended, 'it ends once');
        this.ended = true;
      },
    };
    Object.defineProperty(stream, 'closed', { get: () => this.closed });
    this.exchange = {
      stream: () => stream,
      onAbort: (callback: () => void) => this.#onAbort.push(callback),
    } as unknown as Exchange;
  }

  leave(): void {
    this.closed = true;
    for (const callback of this.#onAbort.splice(0)) callback();
  }
}

function open(openMax = 1_024) {
  const clock = new ManualClock();
  const logger = recordingLogger();
  return { clock, logger, streams: new McpStreams({ clock, logger, openMax }) };
}

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === code;
const stays = (): boolean => true;
const ann: SignedIn = { kind: 'token', userId: 'usr_ann', tokenId: 'tok_ann', teamId: 'team_a' };
const listening = { kind: 'listen', first: '{"ack":1}', last: '{"end":1}' } as const;

describe('McpStreams', () => {
  it('sends what a call tells of, its response, and ends', async () => {
    const { streams } = open();
    const visitor = new Visitor();
    const run = (send: (json: string) => void): Promise<void> => {
      send('{"a":1}');
      send('{"b":2}');
      return Promise.resolve();
    };
    await streams.run(visitor.exchange, { kind: 'events', run }, ann);
    assert.equal(
      visitor.written,
      'event: message\ndata: {"a":1}\n\nevent: message\ndata: {"b":2}\n\n',
    );
    assert.ok(visitor.ended);
    assert.equal(streams.size, 0);
  });

  it('ends without a response, and says so in the log, when a call breaks', async () => {
    const { streams, logger } = open();
    const visitor = new Visitor();
    const run = (): Promise<never> => Promise.reject(new Error('broken'));
    await streams.run(visitor.exchange, { kind: 'events', run }, ann);
    assert.ok(visitor.ended);
    assert.deepEqual(
      logger.records.map(({ event }) => event),
      ['mcp_stream_failed'],
    );
  });

  it('acknowledges a listener, keeps it with comments, and forgets it when it leaves', async () => {
    const { streams, clock } = open();
    const visitor = new Visitor();
    streams.listen(visitor.exchange, listening, ann, stays);
    assert.equal(visitor.written, 'event: message\ndata: {"ack":1}\n\n');
    await clock.advance(30_000);
    assert.match(visitor.written, /\n\n: ping\n\n: ping\n\n$/);
    visitor.leave();
    assert.equal(streams.size, 0);
    await clock.advance(60_000);
    assert.ok(!visitor.ended, 'who left is not answered any more');
  });

  it('ends a listener within a second after it may not stay, and no other', async () => {
    const { streams, clock } = open();
    const [one, other] = [new Visitor(), new Visitor()];
    let may = true;
    streams.listen(one.exchange, listening, ann, () => may);
    streams.listen(other.exchange, listening, ann, stays);
    await clock.advance(10_000);
    assert.ok(!one.ended);
    may = false;
    await clock.advance(1_000);
    assert.ok(one.ended);
    assert.doesNotMatch(one.written, /"end"/);
    assert.ok(!other.ended);
    assert.equal(streams.size, 1);
  });

  it('refuses one more than there may be, listeners and calls apart, until another leaves', async () => {
    const { streams } = open(2);
    const visitors = [new Visitor(), new Visitor()];
    for (const { exchange } of visitors) streams.listen(exchange, listening, ann, stays);
    const late = new Visitor();
    const tooMany = refusedWith('TOO_MANY_STREAMS');
    assert.throws(() => streams.listen(late.exchange, listening, ann, stays), tooMany);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const call = { kind: 'events' as const, run: () => promise };
    const running = [new Visitor(), new Visitor()].map(({ exchange }) =>
      streams.run(exchange, call, ann),
    );
    await assert.rejects(streams.run(late.exchange, call, ann), tooMany);
    assert.equal(late.written, '');
    visitors[0]?.leave();
    streams.listen(late.exchange, listening, ann, stays);
    resolve(undefined);
    await Promise.all(running);
    assert.equal(streams.size, 2);
  });

  it('has room for 1,024 listeners, 512 of them of one team, 256 of one person, and 64 of one token', () => {
    const { streams } = open();
    const tooMany = refusedWith('TOO_MANY_STREAMS');
    const visitors: Visitor[] = [];
    const listen = (userId: string, tokenId: string, teamId = 'team_late'): void => {
      const visitor = new Visitor();
      const owner = { ...ann, userId, tokenId, teamId };
      streams.listen(visitor.exchange, listening, owner, stays);
      visitors.push(visitor);
    };
    for (let person = 0; person < 4; person++) {
      for (let token = 0; token < 4; token++) {
        const team = `team_${String(person >> 1)}`;
        const owner = [
          `usr_${String(person)}`,
          `tok_${String(person)}${String(token)}`,
          team,
        ] as const;
        for (let i = 0; i < 64; i++) listen(...owner);
        assert.throws(() => listen(...owner), tooMany);
      }
      assert.throws(() => listen(`usr_${String(person)}`, 'tok_more'), tooMany);
    }
    visitors.at(-1)?.leave();
    assert.throws(() => listen('usr_late', 'tok_late', 'team_0'), tooMany);
    listen('usr_late', 'tok_late', 'team_1');
    assert.equal(streams.size, 1_024);
    assert.throws(() => listen('usr_late', 'tok_late'), tooMany);
    visitors[0]?.leave();
    listen('usr_0', 'tok_00');
    assert.equal(streams.size, 1_024);
  });

  it('bounds calls of one person, apart from listeners', async () => {
    const { streams } = open();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const call = { kind: 'events' as const, run: () => promise };
    const begin = (userId: string, tokenId: string): Promise<void> =>
      streams.run(new Visitor().exchange, call, { ...ann, userId, tokenId });
    const running = Array.from({ length: 256 }, (_, i) => begin('usr_ann', `tok_${String(i % 3)}`));
    await assert.rejects(begin('usr_ann', 'tok_4'), refusedWith('TOO_MANY_STREAMS'));
    running.push(begin('usr_bob', 'tok_5'));
    streams.listen(new Visitor().exchange, listening, ann, stays);
    resolve(undefined);
    await Promise.all(running);
    await begin('usr_ann', 'tok_4');
  });

  it('ends listeners when it drains, lets calls finish, and begins none', async () => {
    const { streams } = open();
    const [listener, caller, late] = [new Visitor(), new Visitor(), new Visitor()];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    streams.listen(listener.exchange, listening, ann, stays);
    const call = streams.run(caller.exchange, { kind: 'events', run: () => promise }, ann);
    streams.drain();
    assert.ok(listener.ended);
    assert.ok(listener.written.endsWith('\n\nevent: message\ndata: {"end":1}\n\n'));
    assert.ok(!caller.ended);
    const shuttingDown = refusedWith('SHUTTING_DOWN');
    assert.throws(() => streams.listen(late.exchange, listening, ann, stays), shuttingDown);
    resolve(undefined);
    await call;
    assert.ok(caller.ended);
    assert.equal(streams.size, 0);
    streams.drain();
  });
});
