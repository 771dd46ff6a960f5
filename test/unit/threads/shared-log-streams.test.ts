import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { StreamSessionsOptions } from '../../../src/logs/viewers/sessions.ts';
import type { SharedStreams } from '../../../src/logs/viewers/stream-room.ts';
import { logRoutes } from '../../../src/gateway/transports/logs.ts';
import { homeDoors, threadDoors } from '../../../src/threads/doors.ts';
import { PortCalls } from '../../../src/threads/port-calls.ts';
import { openDoor, serveDoor } from '../../../src/threads/remote-door.ts';
import { sharedRooms, StreamLedger } from '../../../src/threads/stream-ledger.ts';
import type { Reader } from '../../../src/store/reader-and-journal.ts';
import type { AppRecord } from '../../../src/store/records/records.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway } from '../../support/gateway.ts';
import { LogBench, person } from '../../support/log-bench.ts';
import { RawClient } from '../../support/raw-http.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

const maxPerPerson = 3;
const app = {
  id: 'app_one',
  teamId: 'team_one',
  deletedAtMs: null,
  run: { live: null, next: null, draining: [] } as unknown as AppRecord['run'],
} as AppRecord;
const reader = {
  get: (from: { name: string }) => (from.name === tables.apps.name ? app : undefined),
} as unknown as Reader;

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** A gateway with log streams as on a thread of its own. */
async function startThread(shared: SharedStreams, more: Partial<StreamSessionsOptions> = {}) {
  const bench = new LogBench({ sessions: { maxPerPerson, shared, ...more } });
  const gateway = await startGateway(
    logRoutes({
      reader,
      sessions: bench.sessions,
      logMaxDays: 14,
      placeAnswers: () => Promise.resolve(true),
      authenticate: (exchange) => person(exchange.header('cookie')),
      authorize: () => undefined,
      refuseCrossSite: () => undefined,
    }),
  );
  opened.push({
    close: async () => {
      await gateway.close();
      await bench.writer.close();
      bench.remove();
    },
  });
  const url = `${gateway.url}/api/apps/app_one/logs`;
  return {
    sessions: bench.sessions,
    port: gateway.port,
    ask: (cookie: string, init: RequestInit = {}, query = '') =>
      fetch(`${url}${query}`, { ...init, headers: { cookie } }),
  };
}

async function startThreads(count = 2) {
  const ledger = new StreamLedger({ logs: maxPerPerson, graphql: 0 });
  const logger = memoryLogger();
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const { port1, port2 } = new MessageChannel();
      const home = new PortCalls(port1, { logger });
      const calls = new PortCalls(port2, { logger });
      opened.push(home);
      serveDoor(home, homeDoors.streams, ledger.join(openDoor(home, threadDoors.streams)));
      const thread = await startThread(sharedRooms(openDoor(calls, homeDoors.streams)).logs);
      serveDoor(calls, threadDoors.streams, {
        close: ({ sessionId, userId }) => thread.sessions.close(sessionId, userId),
      });
      return { ...thread, calls };
    }),
  );
}

/** An open stream: its id, and its text once it has ended. */
async function streamOf(answer: Response): Promise<{ id: string; rest: Promise<string> }> {
  assert.equal(answer.status, 200);
  const chunks = answer.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  assert.ok(chunks);
  const first = (await chunks.next()).value ?? '';
  const id = /"(str_\w+)"/.exec(first)?.[1] ?? assert.fail(first);
  const rest = async (): Promise<string> => {
    let text = '';
    try {
      for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) text += chunk;
    } catch {
      // Cut off at the end of a test.
    }
    return text;
  };
  return { id, rest: rest() };
}

describe('log streams of several threads', () => {
  it('are bounded for a person over all threads together', async () => {
    const [one, other] = await startThreads();
    assert.ok(one && other);
    const first = await streamOf(await one.ask('usr_a'));
    await streamOf(await one.ask('usr_a'));
    await streamOf(await other.ask('usr_a'));
    for (const thread of [one, other]) {
      const refused = await thread.ask('usr_a');
      assert.equal(refused.status, 429);
      const { code, detail } = (await refused.json()) as { code: string; detail: string };
      assert.equal(code, 'TOO_MANY_STREAMS');
      assert.equal(detail, 'At most 3 log streams may be open at a time; close one first.');
    }
    await streamOf(await other.ask('usr_b'));
    await one.ask('usr_a', { method: 'DELETE' }, `?sessionId=${first.id}`);
    await streamOf(await other.ask('usr_a'));
    assert.equal((await one.ask('usr_a')).status, 429);
  });

  it('never exceed the bound when all are asked for at once', async () => {
    const threads = await startThreads(3);
    const asked = threads.flatMap((thread) => [1, 2, 3, 4].map(() => thread.ask('usr_a')));
    const answers = await Promise.all(asked);
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array<number>(3).fill(200), ...Array<number>(9).fill(429)]);
    for (const { body } of answers) await body?.cancel();
    await eventually('all have left', () => threads.every(({ sessions }) => sessions.size === 0));
    await streamOf(await (threads[0] ?? assert.fail()).ask('usr_a'));
  });

  it('are closed from any thread, by who opened them alone', async () => {
    const [one, other, third] = await startThreads(3);
    assert.ok(one && other && third);
    const { id, rest } = await streamOf(await one.ask('usr_a'));
    const query = `?sessionId=${id}`;
    assert.equal((await other.ask('usr_b', { method: 'DELETE' }, query)).status, 403);
    assert.equal(one.sessions.size, 1);
    assert.equal((await third.ask('usr_a', { method: 'DELETE' }, query)).status, 204);
    assert.match(await rest, /event: exit\n/);
    assert.equal((await other.ask('usr_a', { method: 'DELETE' }, query)).status, 204);
    const none = await other.ask('usr_a', { method: 'DELETE' }, '?sessionId=str_none');
    assert.equal(none.status, 204);
  });
});

describe('a log stream whose place is waited for', () => {
  /** Places that are given when told so. */
  function held() {
    const asked: ((reserved: boolean) => void)[] = [];
    const released: string[] = [];
    const shared: SharedStreams = {
      reserve: () => new Promise((resolve) => asked.push(resolve)),
      release: (userId) => released.push(userId),
      close: () => Promise.resolve('gone'),
    };
    return { asked, released, shared };
  }

  it('gives the place back when its client has left meanwhile', async () => {
    const { asked, released, shared } = held();
    const thread = await startThread(shared);
    const client = new RawClient(thread.port);
    client.write('GET /api/apps/app_one/logs HTTP/1.1\r\nHost: a\r\nCookie: usr_a\r\n\r\n');
    await eventually('the place is asked for', () => asked.length === 1);
    client.socket.destroy();
    const next = thread.ask('usr_b');
    await eventually('another place is asked for', () => asked.length === 2);
    await eventually('the client has left', () => client.ended !== undefined);
    asked[1]?.(false);
    assert.equal((await next).status, 429);
    asked[0]?.(true);
    await eventually('the place is given back', () => released.length === 1);
    assert.deepEqual([released, thread.sessions.size], [['usr_a'], 0]);
  });

  it('gives the place back when the service drains meanwhile', async () => {
    const { asked, released, shared } = held();
    const thread = await startThread(shared);
    const answer = thread.ask('usr_a');
    await eventually('the place is asked for', () => asked.length === 1);
    await thread.sessions.drain();
    asked[0]?.(true);
    assert.equal((await answer).status, 503);
    assert.deepEqual(released, ['usr_a']);
  });

  it('ends at once for who lost the right to see it meanwhile', async () => {
    const { asked, released, shared } = held();
    let allowed = true;
    const thread = await startThread(shared, { stillAllowed: () => allowed });
    const answer = thread.ask('usr_a');
    await eventually('the place is asked for', () => asked.length === 1);
    allowed = false;
    asked[0]?.(true);
    const text = await (await answer).text();
    assert.match(text, /event: failure\ndata: "You may no longer see this log."/);
    assert.deepEqual(released, ['usr_a']);
  });
});
