import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { Causes } from '../../../src/actors/runtime/causes.ts';
import { actorKind, type Cause } from '../../../src/actors/runtime/actor.ts';
import { homeDoors } from '../../../src/threads/doors.ts';
import { RemoteActors } from '../../../src/threads/remote-actors.ts';
import { openDoor, serveDoor } from '../../../src/threads/remote-door.ts';
import { ActorRuntime } from '../../../src/actors/runtime/runtime.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { PortCalls } from '../../../src/threads/port-calls.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { memoryLogger } from '../../support/memory-logger.ts';
import { ScriptedStore } from '../../support/scripted-store.ts';

type DeskProtocol = {
  say: { in: { words: string }; out: { words: string; cause: Cause | null } };
  refuse: { in: object; out: never };
  crash: { in: object; out: never };
  hang: { in: object; out: string };
};
const desk = actorKind<DeskProtocol>('desk');
const none = {};

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

function setUp() {
  const store = new ScriptedStore();
  const clocks = { home: new ManualClock(), thread: new ManualClock() };
  const logger = memoryLogger();
  const heard: string[] = [];
  const runtime = new ActorRuntime({ store, clock: clocks.home, logger });
  const refused = new ServiceError('DEPLOY_IN_PROGRESS', 'One is under way.', {
    extensions: { deploymentId: 'dpl_1' },
  });
  runtime.register<DeskProtocol>({
    kind: desk,
    mailboxMax: 2,
    activate: (context) => ({
      say: ({ words }) => {
        heard.push(words);
        return { words, cause: context.cause };
      },
      refuse: () => {
        throw refused;
      },
      crash: () => {
        throw new Error('bug');
      },
      hang: () => {
        heard.push('hangs');
        return new Promise(() => undefined);
      },
    }),
  });
  runtime.start();
  const { port1, port2 } = new MessageChannel();
  const home = new PortCalls(port1, { logger });
  const thread = new PortCalls(port2, { logger });
  serveDoor(home, homeDoors.actors, runtime);
  const causes = new Causes();
  const actors = new RemoteActors({
    home: openDoor(thread, homeDoors.actors),
    causes,
    clock: clocks.thread,
  });
  opened.push(home, thread, runtime);
  return { actors, causes, runtime, clocks, logger, heard, refused, thread };
}

const seed = {
  id: 'act_1',
  atMs: 1,
  action: 'deploy_hook',
  userId: 'usr_1',
  tokenId: null,
  teamId: 'team_1',
  address: '192.0.2.1',
  userAgent: 'curl',
  via: 'http' as const,
  agent: null,
  targetId: 'app_1',
  input: { name: 'shop' },
  always: false,
};
const unexpected = () => assert.fail('the request failed');

describe('RemoteActors', () => {
  it('asks as if the actor lived on this thread', async () => {
    const { actors, refused, heard } = setUp();
    const replies = await Promise.all([
      actors.ask(desk.at('a'), { type: 'say', words: 'one' }),
      actors.ask(desk.at('a'), { type: 'say', words: 'two' }),
    ]);
    assert.deepEqual(replies, [
      { words: 'one', cause: null },
      { words: 'two', cause: null },
    ]);
    assert.deepEqual(heard, ['one', 'two']);
    const error = await actors
      .ask(desk.at('a'), { type: 'refuse', ...none })
      .catch((e: unknown) => e);
    assert.ok(error instanceof ServiceError);
    assert.deepEqual(error.toPlain(), refused.toPlain());
    await assert.rejects(actors.ask(desk.at('b'), { type: 'crash', ...none }), {
      code: 'INTERNAL',
    });
  });

  it('takes along the cause of the request under way here, once as the first', async () => {
    const { actors, causes } = setUp();
    const work = async (): Promise<(Cause | null)[]> => {
      const first = await actors.ask(desk.at('a'), { type: 'say', words: 'one' });
      causes.amend({ userId: 'usr_2' });
      const second = await actors.ask(desk.at('a'), { type: 'say', words: 'two' });
      return [first.cause, second.cause];
    };
    assert.deepEqual(await causes.during(seed, work, unexpected), [
      { ...seed, again: false },
      { ...seed, userId: 'usr_2', again: true },
    ]);
    const given = { ...seed, id: 'act_2', again: false };
    const { cause } = await actors.ask(
      desk.at('a'),
      { type: 'say', words: 'three' },
      { cause: given },
    );
    assert.deepEqual(cause, given);
  });

  it('gives up at the deadline, also when the other thread does not', async () => {
    const { actors, clocks, heard } = setUp();
    const late = (): Promise<void> =>
      assert.rejects(actors.ask(desk.at('a'), { type: 'hang', ...none }, { deadlineMs: 500 }), {
        code: 'DEADLINE_EXCEEDED',
      });
    const there = late();
    await eventually('it was asked', () => heard.length === 1);
    await clocks.home.advance(500);
    await there;
    const here = late();
    await clocks.thread.advance(500);
    await here;
  });

  it('tells in order with what it asks, and logs there what is refused', async () => {
    const { actors, heard, logger } = setUp();
    actors.tell(desk.at('a'), { type: 'say', words: 'told' });
    await actors.ask(desk.at('a'), { type: 'say', words: 'asked' });
    assert.deepEqual(heard, ['told', 'asked']);
    for (let i = 0; i < 4; i += 1) actors.tell(desk.at('b'), { type: 'hang', ...none });
    await assert.rejects(actors.ask(desk.at('b'), { type: 'hang', ...none }), {
      code: 'MAILBOX_FULL',
    });
    const lost = logger.events.filter(({ event }) => event === 'port_tell_failed');
    assert.ok(lost.length > 0);
    assert.deepEqual(
      new Set(lost.map(({ fields }) => (fields as { call: string }).call)),
      new Set(['actors.tell']),
    );
  });

  it('is refused once the actors take nothing from outside any more', async () => {
    const { actors, runtime, thread, clocks } = setUp();
    await actors.ask(desk.at('a'), { type: 'say', words: 'x' });
    const drained = runtime.drain();
    await clocks.home.advance(5);
    await drained;
    await assert.rejects(actors.ask(desk.at('a'), { type: 'say', words: 'y' }), {
      code: 'SHUTTING_DOWN',
    });
    const waiting = actors.ask(desk.at('a'), { type: 'say', words: 'z' });
    thread.close();
    await assert.rejects(waiting, { code: 'SHUTTING_DOWN' });
    await eventually('nothing is under way', () => thread.underWay === 0);
  });
});
