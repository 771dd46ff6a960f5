import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { ConsoleDoor, NamedConsole } from '../../../src/consoles/console-door.ts';
import {
  answerConsoles,
  type ConsoleCalls,
  type ConsoleThreadCalls,
  RemoteConsoles,
} from '../../../src/threads/remote-consoles.ts';
import type { FrameSink } from '../../../src/logs/viewers/viewer.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { openPortCalls, type PortCalls } from '../../../src/lib/port-calls.ts';
import { eventually } from '../../support/eventually.ts';
import { MemorySink } from '../../support/memory-sink.ts';
import { noLog } from '../../support/runner.ts';

const person = { kind: 'person', userId: 'usr_1', sessionId: 'ses_1', teamId: null } as const;
const named: NamedConsole = { sessionId: 'str_1', person, target: { kind: 'app', id: 'app_1' } };
const frame = (text: string): Buffer =>
  Buffer.from(`event: data\ndata: ${JSON.stringify(text)}\n\n`);

describe('consoles over a port', () => {
  let home: PortCalls<ConsoleThreadCalls, ConsoleCalls>;
  let thread: PortCalls<ConsoleCalls, ConsoleThreadCalls>;
  let remote: RemoteConsoles;
  let watched: FrameSink[];
  let left: number;
  let writable: number;

  beforeEach(() => {
    const { port1, port2 } = new MessageChannel();
    home = openPortCalls(port1, { logger: noLog });
    thread = openPortCalls(port2, { logger: noLog });
    watched = [];
    left = 0;
    writable = 0;
    const refuse = (): Promise<never> =>
      Promise.reject(new ServiceError('NO_SUCH_SESSION', 'There is none.'));
    const door: ConsoleDoor = {
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
    answerConsoles(home, door);
    remote = new RemoteConsoles(thread);
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
