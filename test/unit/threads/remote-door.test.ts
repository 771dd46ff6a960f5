import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { ConsoleDoor, NamedConsole } from '../../../src/consoles/console-door.ts';
import { homeDoors } from '../../../src/threads/doors.ts';
import { door, openDoor, serveDoor } from '../../../src/threads/remote-door.ts';
import type { FrameSink } from '../../../src/logs/viewers/viewer.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { PortCalls } from '../../../src/threads/port-calls.ts';
import { eventually } from '../../support/eventually.ts';
import { MemorySink } from '../../support/memory-sink.ts';
import { noLog } from '../../support/runner.ts';

const person = { kind: 'person', userId: 'usr_1', sessionId: 'ses_1', teamId: null } as const;
const named: NamedConsole = { sessionId: 'str_1', person, target: { kind: 'app', id: 'app_1' } };
const frame = (text: string): Buffer =>
  Buffer.from(`event: data\ndata: ${JSON.stringify(text)}\n\n`);

describe('consoles behind a door', () => {
  let home: PortCalls;
  let thread: PortCalls;
  let remote: ConsoleDoor;
  let watched: FrameSink[];
  let left: number;
  let writable: number;

  beforeEach(() => {
    const { port1, port2 } = new MessageChannel();
    home = new PortCalls(port1, { logger: noLog });
    thread = new PortCalls(port2, { logger: noLog });
    watched = [];
    left = 0;
    writable = 0;
    const refuse = (): Promise<never> =>
      Promise.reject(new ServiceError('NO_SUCH_SESSION', 'There is none.'));
    const own: ConsoleDoor = {
      open: () => Promise.resolve('str_1'),
      admit: refuse,
      write: refuse,
      resize: () => Promise.resolve(),
      close: () => Promise.resolve('foreign'),
      watch: (_named, sink) => {
        watched.push(sink);
        sink.onWritable(() => writable++);
        return () => left++;
      },
    };
    serveDoor(home, homeDoors.consoles, own);
    remote = openDoor(thread, homeDoors.consoles);
  });
  afterEach(() => {
    thread.close();
    home.close();
  });

  const watch = async (sink: FrameSink): Promise<{ far: FrameSink; leave: () => void }> => {
    const before = watched.length;
    const leave = remote.watch(named, sink);
    await eventually('it is watched', () => watched.length > before);
    const far = watched.at(-1);
    assert.ok(far);
    return { far, leave };
  };

  it('carry questions, and refusals as they are', async () => {
    assert.equal(await remote.open({} as never), 'str_1');
    await assert.rejects(remote.write(named, Buffer.from('x')), { code: 'NO_SUCH_SESSION' });
    assert.equal(await remote.close(named), 'foreign');
  });

  it('carry frames in order, and the end', async () => {
    const sink = new MemorySink();
    const { far } = await watch(sink);
    for (let i = 0; i < 100; i++) far.write(frame(`${String(i)} `));
    far.end(Buffer.from('event: exit\ndata: ""\n\n'));
    assert.equal(far.closed, true);
    await eventually('the end', () => sink.ended);
    assert.equal(sink.text, Array.from({ length: 100 }, (_, i) => `${String(i)} `).join(''));
    assert.equal(sink.kinds.at(-1), 'exit');
  });

  it('make who writes wait for a client that does not read', async () => {
    const sink = new MemorySink();
    sink.room = 1;
    const { far } = await watch(sink);
    let written = 0;
    while (far.write(frame('x'.repeat(10_000)))) written++;
    assert.ok(written < 30, String(written));
    await eventually('all of it is there', () => sink.events.length > written);
    assert.equal(writable, 0);
    sink.drain();
    await eventually('there is room again', () => writable === 1);
    assert.equal(far.write(frame('y')), true);
  });

  it('tell when a client has left, once', async () => {
    const { far, leave } = await watch(new MemorySink());
    leave();
    leave();
    await eventually('it is told', () => left === 1);
    assert.equal(far.closed, true);
  });

  it('are left by a thread that is gone', async () => {
    await watch(new MemorySink());
    await watch(new MemorySink());
    thread.close();
    await eventually('both are told', () => left === 2);
  });
});

interface Desk {
  sum(a: number, b?: number): Promise<number>;
  hang(words: string, signal: AbortSignal | null): Promise<string>;
  note(words: string): void;
  rejects(): Promise<void>;
}

const deskDoor = door<Desk>('desk', { sum: 'ask', hang: 'askUntil', note: 'tell', rejects: 'ask' });

describe('a door', () => {
  const opened: { close(): void }[] = [];
  afterEach(() => {
    for (const port of opened.splice(0)) port.close();
  });

  function setUp() {
    const { port1, port2 } = new MessageChannel();
    const home = new PortCalls(port1, { logger: noLog });
    const thread = new PortCalls(port2, { logger: noLog });
    opened.push(home, thread);
    const heard: string[] = [];
    const hanging: { signal: AbortSignal | null; answer: (words: string) => void }[] = [];
    const own = {
      base: 100,
      sum(a: number, b?: number) {
        heard.push('sum');
        return this.base + a + (b ?? 0);
      },
      hang: (_words: string, signal: AbortSignal | null) =>
        new Promise<string>((answer) => {
          hanging.push({ signal, answer });
        }),
      note: (words: string) => {
        heard.push(words);
      },
      rejects: () => Promise.reject(new ServiceError('CONFLICT', 'Not now.')),
    };
    serveDoor(home, deskDoor, own);
    return { desk: openDoor(thread, deskDoor), heard, hanging, thread };
  }

  it('answers with what the other side returns, now or later, and with its refusals', async () => {
    const { desk, hanging } = setUp();
    assert.deepEqual(await Promise.all([desk.sum(1), desk.sum(1, 2)]), [101, 103]);
    await assert.rejects(desk.rejects(), { code: 'CONFLICT', message: 'Not now.' });
    const later = desk.hang('x', null);
    await eventually('it is asked', () => hanging.length === 1);
    hanging[0]?.answer('done');
    assert.equal(await later, 'done');
  });

  it('keeps the order of what it tells and asks', async () => {
    const { desk, heard } = setUp();
    desk.note('one');
    const asked = desk.sum(1);
    desk.note('two');
    await Promise.all([asked, desk.sum(2)]);
    assert.deepEqual(heard, ['one', 'sum', 'two', 'sum']);
  });

  it('tells the other side when a question is given up', async () => {
    const { desk, hanging } = setUp();
    const controller = new AbortController();
    const asked = desk.hang('x', controller.signal);
    await eventually('it is asked', () => hanging.length === 1);
    assert.equal(hanging[0]?.signal?.aborted, false);
    controller.abort(new Error('enough'));
    await assert.rejects(asked, /enough/);
    await eventually('it is told', () => hanging[0]?.signal?.aborted === true);
  });

  it('rejects what is asked of a thread that is gone', async () => {
    const { desk, thread } = setUp();
    thread.close();
    await assert.rejects(desk.sum(1), { code: 'SHUTTING_DOWN' });
    desk.note('to nobody');
  });
});
