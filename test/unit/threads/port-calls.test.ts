import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';
import { ServiceError } from '../../../src/lib/errors.ts';
import { PortCalls } from '../../../src/threads/port-calls.ts';
import { eventually } from '../../support/eventually.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

const twice = (n: unknown): number => Number(n) * 2;

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

function pair(underWayMax?: number) {
  const { port1, port2 } = new MessageChannel();
  const logger = memoryLogger();
  const here: PortCalls = new PortCalls(port1, { logger });
  const there: PortCalls = new PortCalls(port2, {
    logger: memoryLogger(),
    ...(underWayMax !== undefined && { underWayMax }),
  });
  opened.push(here, there);
  return { here, there, logger, ports: [port1, port2] as const };
}

/** Handlers that settle when told to. */
function controlled(here: PortCalls) {
  const begun: { input: unknown; signal: AbortSignal; finish: (output: unknown) => void }[] = [];
  here.handle(
    'slow',
    (input, signal) =>
      new Promise((finish) => {
        begun.push({ input, signal, finish });
      }),
  );
  return begun;
}

describe('PortCalls', () => {
  it('answers in both directions', async () => {
    const { here, there } = pair();
    here.handle('double', twice);
    there.handle('greet', (name) => Promise.resolve(`hello ${String(name)}`));
    assert.deepEqual(
      await Promise.all([
        there.ask('double', 21),
        here.ask('greet', 'you'),
        there.ask('double', 2),
      ]),
      [42, 'hello you', 4],
    );
    assert.equal(there.underWay, 0);
  });

  it('keeps the order of tellings and questions, and sends those of a turn as one message', async () => {
    const { here, there, ports } = pair();
    let messages = 0;
    ports[0].on('message', () => (messages += 1));
    const heard: unknown[] = [];
    here.handle('note', (input) => void heard.push(input));
    here.handle('double', (n) => {
      heard.push(n);
      return twice(n);
    });
    there.tell('note', 'a');
    const first = there.ask('double', 1);
    there.tell('note', 'b');
    await Promise.all([first, there.ask('double', 2)]);
    assert.deepEqual(heard, ['a', 1, 'b', 2]);
    assert.equal(messages, 1);
  });

  it('hands on a ServiceError as it is', async () => {
    const { here, there, logger } = pair();
    const thrown = new ServiceError('RATE_LIMITED', 'Later.', {
      retryAfterS: 7,
      headers: { Allow: 'GET' },
      extensions: { left: 0 },
    });
    here.handle('fail', () => {
      throw thrown;
    });
    const error = await there.ask('fail', 'service').catch((caught: unknown) => caught);
    assert.ok(error instanceof ServiceError);
    assert.deepEqual(error.toPlain(), thrown.toPlain());
    assert.deepEqual(logger.events, []);
  });

  it('logs a bug where it happened and tells nothing of it', async () => {
    const { here, there, logger } = pair();
    const bug = new Error('the password is 1234');
    here.handle('fail', () => Promise.reject(bug));
    const error = await there.ask('fail', 'bug').catch((caught: unknown) => caught);
    assert.ok(error instanceof Error && !(error instanceof ServiceError));
    assert.doesNotMatch(error.message, /1234/);
    assert.deepEqual(logger.events, [
      { level: 'error', event: 'port_call_failed', fields: { call: 'fail', err: bug } },
    ]);
  });

  it('rejects a question that nobody handles', async () => {
    const { there, logger } = pair();
    await assert.rejects(there.ask('double', 1), /Cannot answer double/);
    assert.equal(logger.events[0]?.event, 'port_call_failed');
  });

  it('rejects alone what cannot cross, on the way there and on the way back', async () => {
    const { here, there, logger } = pair();
    here.handle('double', twice);
    here.handle('fail', () => () => 'a function');
    const there1 = there.ask('double', 1);
    const bad = there.ask('double', () => 1);
    const back = there.ask('fail', 'uncloneable');
    const there2 = there.ask('double', 2);
    await assert.rejects(bad, /Cannot ask double: it cannot cross/);
    await assert.rejects(back, /Cannot answer fail/);
    assert.deepEqual(await Promise.all([there1, there2]), [2, 4]);
    assert.equal(logger.events[0]?.event, 'port_message_uncloneable');
  });

  it('logs what a told handler throws, and goes on', async () => {
    const { here, there, logger } = pair();
    here.handle('note', () => Promise.reject(new Error('no')));
    here.handle('double', twice);
    there.tell('note', 1);
    assert.equal(await there.ask('double', 4), 8);
    await eventually('the failure is logged', () => logger.events.length === 1);
    assert.equal(logger.events[0]?.event, 'port_tell_failed');
  });

  it('aborts the handler when the asker gives up', async () => {
    const { here, there } = pair();
    const begun = controlled(here);
    const controller = new AbortController();
    const question = there.ask('slow', 'x', controller.signal);
    await eventually('the handler runs', () => begun.length === 1);
    assert.equal(begun[0]?.signal.aborted, false);
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(question, reason);
    await eventually('the handler is told', () => begun[0]?.signal.aborted === true);
    assert.equal(there.underWay, 1);
    begun[0].finish('too late');
    await eventually('nothing is under way', () => there.underWay === 0);
    await assert.rejects(there.ask('slow', 'y', controller.signal), reason);
    assert.equal(there.underWay, 0);
  });

  it('refuses more questions under way than it may have, given-up ones included', async () => {
    const { here, there } = pair(2);
    const begun = controlled(here);
    const controller = new AbortController();
    const first = there.ask('slow', 'a', controller.signal);
    const second = there.ask('slow', 'b');
    controller.abort(new Error('enough'));
    await assert.rejects(first, /enough/);
    await assert.rejects(there.ask('slow', 'c'), { code: 'OVERLOADED' });
    await eventually('both run', () => begun.length === 2);
    for (const { finish, input } of begun) finish(input);
    assert.equal(await second, 'b');
    await eventually('there is room', () => there.underWay === 0);
    const third = there.ask('slow', 'd');
    await eventually('it runs', () => begun.length === 3);
    begun[2]?.finish('d');
    assert.equal(await third, 'd');
  });

  it('keeps the asynchronous context of the asker', async () => {
    const { here, there } = pair();
    here.handle('double', twice);
    const storage = new AsyncLocalStorage<string>();
    const seen = await storage.run('mine', async () => {
      await there.ask('double', 1);
      return storage.getStore();
    });
    assert.equal(seen, 'mine');
  });

  it('rejects what waits, and aborts what is answered, when the other side closes', async () => {
    const { here, there } = pair();
    const begun = controlled(here);
    let closed = 0;
    here.onClose(() => (closed += 1));
    const question = there.ask('slow', 'x');
    await eventually('the handler runs', () => begun.length === 1);
    there.close();
    await assert.rejects(question, { code: 'SHUTTING_DOWN' });
    await eventually('the other side has heard', () => here.closed);
    assert.equal(begun[0]?.signal.aborted, true);
    assert.equal(closed, 1);
    await assert.rejects(here.ask('greet', 'x'), { code: 'SHUTTING_DOWN' });
    here.tell('greet', 'nobody');
    here.close();
  });

  it('sends what it was told before it closed', async () => {
    const { here, there } = pair();
    const heard: unknown[] = [];
    here.handle('note', (input) => void heard.push(input));
    there.tell('note', 'last words');
    there.close();
    await eventually('the other side has heard', () => here.closed);
    assert.deepEqual(heard, ['last words']);
  });

  it('rejects what waits for a thread that dies', async () => {
    const { port1, port2 } = new MessageChannel();
    const module = new URL('../../../src/threads/port-calls.ts', import.meta.url).href;
    const worker = new Worker(
      `import { workerData } from 'node:worker_threads';
       import { PortCalls } from ${JSON.stringify(module)};
       const calls = new PortCalls(workerData, { logger: console });
       calls.handle('double', (n) => n * 2);
       calls.handle('slow', () => process.exit(1));`,
      { eval: true, workerData: port2, transferList: [port2] },
    );
    const calls: PortCalls = new PortCalls(port1, { logger: memoryLogger() });
    opened.push(calls);
    assert.equal(await calls.ask('double', 4), 8);
    await assert.rejects(calls.ask('slow', 'x'), { code: 'SHUTTING_DOWN' });
    await worker.terminate();
  });
});
