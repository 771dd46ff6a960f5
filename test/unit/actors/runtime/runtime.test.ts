import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { actorKind } from '../../../../src/actors/runtime/actor.ts';
import type { Actor, ActorContext } from '../../../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { remove } from '../../../../src/store/records/table.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { ScriptedStore } from '../../../support/scripted-store.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

type CounterProtocol = {
  add: { in: { by: number }; out: number };
  conflict: { in: object; out: string };
  crash: { in: object; out: never };
  hang: { in: object; out: string };
  work: { in: object; out: boolean };
  /** Lends the test the activation's way to report. */
  lend: { in: object; out: boolean };
  'alarm-in': { in: { ms: number }; out: boolean };
  alarmed: { in: { note: string }; out: boolean };
};
const counter = actorKind<CounterProtocol>('counter');
const change = remove(tables.apps, 'none');

function setUp(options: { mailboxMax?: number; activate?: () => void } = {}) {
  const store = new ScriptedStore();
  const clock = new ManualClock();
  const logger = recordingLogger();
  const seen = {
    activations: 0,
    alarmed: [] as string[],
    unhang: () => {},
    reported: 0,
    report: (stop?: AbortSignal): Promise<number> => Promise.reject(stop?.reason as Error),
  };
  const runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
  const handlers = (context: ActorContext<CounterProtocol>): Actor<CounterProtocol> => {
    let count = 0;
    return {
      add({ by }) {
        count += by;
        void context.commit([change]);
        return count;
      },
      async conflict() {
        await context.commit([change]);
        return 'committed';
      },
      crash() {
        throw new Error('bug');
      },
      hang: () =>
        new Promise((resolve) => {
          seen.unhang = () => {
            resolve('done');
          };
        }),
      work() {
        context.work(
          'work',
          (signal) =>
            new Promise((resolve) => {
              signal.addEventListener('abort', () => {
                resolve();
              });
            }),
        );
        return true;
      },
      lend() {
        seen.report = (stop) =>
          context.report(() => {
            seen.reported += 1;
            count += 100;
            void context.commit([change]);
            return count;
          }, stop);
        return true;
      },
      'alarm-in'({ ms }) {
        const message = { type: 'alarmed' as const, note: `after ${String(ms)}` };
        void context.commit([context.alarm('only', clock.now() + ms, message)]);
        return true;
      },
      alarmed({ note }) {
        seen.alarmed.push(note);
        return true;
      },
    };
  };
  runtime.register<CounterProtocol>({
    kind: counter,
    mailboxMax: options.mailboxMax ?? 1024,
    idleMs: 60_000,
    activate(context) {
      options.activate?.();
      seen.activations += 1;
      return handlers(context);
    },
  });
  runtime.start();
  return { store, clock, logger, seen, runtime };
}

const code = (expected: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === expected;

describe('ActorRuntime', () => {
  it('releases a reply only when its commit is durable, and handles the next message meanwhile', async () => {
    const { store, runtime } = setUp();
    store.held = true;
    const replies: number[] = [];
    const asks = [1, 2, 3].map(async (by) => {
      replies.push(await runtime.ask(counter.at('a'), { type: 'add', by }));
    });
    await settle();
    assert.equal(store.pending.length, 3, 'all three were handled');
    assert.deepEqual(replies, [], 'none was released');
    store.release();
    await Promise.all(asks);
    assert.deepEqual(replies, [1, 3, 6]);
  });

  it('discards the actor and rejects every waiting reply when a group commit fails', async () => {
    const { store, runtime, seen } = setUp();
    store.held = true;
    const asks = [1, 2].map((by) => runtime.ask(counter.at('a'), { type: 'add', by }));
    const outcomes = Promise.allSettled(asks);
    await settle();
    store.fail(new ServiceError('STORAGE_FULL', 'The disk is full.'));
    for (const outcome of await outcomes) {
      assert.ok(outcome.status === 'rejected' && code('STORAGE_FULL')(outcome.reason));
    }
    store.held = false;
    assert.equal(await runtime.ask(counter.at('a'), { type: 'add', by: 5 }), 5, 'state is new');
    assert.equal(seen.activations, 2);
  });

  it('handles a report behind the messages that wait, and answers it when it is durable', async () => {
    const { store, runtime, seen } = setUp({ mailboxMax: 1 });
    await runtime.ask(counter.at('a'), { type: 'lend' });
    const hangs = runtime.ask(counter.at('a'), { type: 'hang' });
    const waits = runtime.ask(counter.at('a'), { type: 'add', by: 1 });
    // The mailbox is full for others.
    const reported = seen.report();
    await settle();
    assert.equal(seen.reported, 0);
    store.held = true;
    let isDurable = false;
    void reported.then(() => (isDurable = true));
    seen.unhang();
    await settle();
    assert.deepEqual([seen.reported, isDurable], [1, false]);
    store.release();
    assert.deepEqual(await Promise.all([hangs, waits, reported]), ['done', 1, 101]);
  });

  it('drops a report of an activation that has passed, and of work that was given up', async () => {
    const { store, runtime, seen } = setUp();
    store.held = true;
    const added = Promise.allSettled([runtime.ask(counter.at('a'), { type: 'add', by: 1 })]);
    void runtime.ask(counter.at('a'), { type: 'lend' }).catch(() => undefined);
    void runtime.ask(counter.at('a'), { type: 'hang' }).catch(() => undefined);
    await settle();
    const { report } = seen;
    const stop = new AbortController();
    const givenUp = report(stop.signal);
    const waiting = report();
    stop.abort(new Error('given up'));
    await assert.rejects(givenUp, { message: 'given up' });
    store.fail(new ServiceError('STORAGE_FULL', 'The disk is full.'));
    await added;
    await assert.rejects(waiting, { message: 'counter:a ended: discarded' });
    store.held = false;
    seen.unhang();
    assert.equal(await runtime.ask(counter.at('a'), { type: 'add', by: 5 }), 5);
    await assert.rejects(report(), { message: 'counter:a ended: discarded' });
    assert.equal(await runtime.ask(counter.at('a'), { type: 'add', by: 1 }), 6);
    assert.deepEqual([seen.activations, seen.reported], [2, 0]);
  });

  it('activates anew by itself what was discarded with work of its own, and not at once again', async () => {
    const { store, clock, runtime, seen } = setUp();
    await runtime.ask(counter.at('idle'), { type: 'add', by: 1 });
    await runtime.ask(counter.at('busy'), { type: 'work' });
    assert.equal(seen.activations, 2);
    const failing = async (name: string): Promise<void> => {
      store.held = true;
      const asked = runtime.ask(counter.at(name), { type: 'add', by: 1 });
      const outcome = Promise.allSettled([asked]);
      await settle();
      store.fail(new ServiceError('STORAGE_FULL', 'The disk is full.'));
      await outcome;
      store.held = false;
    };
    await failing('idle');
    await failing('busy');
    await settle();
    assert.equal(seen.activations, 2);
    await clock.advance(1000);
    assert.equal(seen.activations, 3, 'the one that worked');
    await clock.advance(20_000);
    assert.equal(seen.activations, 3);
    await runtime.ask(counter.at('busy'), { type: 'work' });
    await failing('busy');
    await runtime.close();
    await clock.advance(60_000);
    assert.equal(seen.activations, 3, 'nothing comes after the end');
  });

  it('leaves a refusal to the handler that awaits it', async () => {
    const { store, runtime, seen } = setUp();
    store.held = true;
    const ask = runtime.ask(counter.at('a'), { type: 'conflict' });
    const refused = assert.rejects(ask, code('CONFLICT'));
    await settle();
    store.fail(new ServiceError('CONFLICT', 'Taken.'));
    await refused;
    store.held = false;
    assert.equal(await runtime.ask(counter.at('a'), { type: 'add', by: 1 }), 1);
    assert.equal(seen.activations, 1);
  });

  it('answers a crash with INTERNAL, keeps what waits, and rests longer after each crash in a row', async () => {
    const { clock, runtime, seen, logger } = setUp();
    const crash = () =>
      assert.rejects(runtime.ask(counter.at('a'), { type: 'crash' }), code('INTERNAL'));
    await crash();
    assert.equal(await runtime.ask(counter.at('a'), { type: 'add', by: 1 }), 1);
    await crash();
    const waiting = runtime.ask(counter.at('a'), { type: 'add', by: 7 });
    await settle();
    assert.equal(seen.activations, 2, 'rests');
    await clock.advance(100);
    assert.equal(await waiting, 7);
    assert.equal(seen.activations, 3);
    assert.equal(logger.records.filter((one) => one.event === 'actor_crashed').length, 2);
  });

  it('answers what waits with the ServiceError that activation throws', async () => {
    const { runtime } = setUp({
      activate() {
        throw new ServiceError('NOT_FOUND', 'No such counter.');
      },
    });
    await assert.rejects(runtime.ask(counter.at('a'), { type: 'add', by: 1 }), code('NOT_FOUND'));
    await assert.rejects(runtime.ask(counter.at('a'), { type: 'add', by: 1 }), code('NOT_FOUND'));
  });

  it('refuses with MAILBOX_FULL beyond the bound', async () => {
    const { runtime, seen } = setUp({ mailboxMax: 2 });
    const hanging = runtime.ask(counter.at('a'), { type: 'hang' });
    await settle();
    const waiting = [1, 2].map((by) => runtime.ask(counter.at('a'), { type: 'add', by }));
    await assert.rejects(
      runtime.ask(counter.at('a'), { type: 'add', by: 3 }),
      code('MAILBOX_FULL'),
    );
    assert.throws(() => {
      runtime.tell(counter.at('a'), { type: 'add', by: 3 });
    }, code('MAILBOX_FULL'));
    seen.unhang();
    assert.equal(await hanging, 'done');
    assert.deepEqual(await Promise.all(waiting), [1, 3]);
  });

  it('rejects at the deadline and skips a message that was not begun by then', async () => {
    const { clock, runtime, seen } = setUp();
    const hanging = runtime.ask(counter.at('a'), { type: 'hang' }, { deadlineMs: 1_000_000 });
    const late = runtime.ask(counter.at('a'), { type: 'add', by: 100 }, { deadlineMs: 50 });
    const refused = assert.rejects(late, code('DEADLINE_EXCEEDED'));
    await clock.advance(60);
    await refused;
    seen.unhang();
    await hanging;
    assert.equal(await runtime.ask(counter.at('a'), { type: 'add', by: 1 }), 1);
  });

  it('passivates what is idle, but not what runs work of its own', async () => {
    const { clock, runtime } = setUp();
    await runtime.ask(counter.at('idle'), { type: 'add', by: 1 });
    await runtime.ask(counter.at('busy'), { type: 'work' });
    await clock.advance(90_000);
    assert.equal(runtime.stats().actors, 1);
    assert.equal(await runtime.ask(counter.at('idle'), { type: 'add', by: 2 }), 2);
  });

  it('tells a durable alarm at its time and forgets it once it was handled', async () => {
    const { clock, runtime, seen, store } = setUp();
    await runtime.ask(counter.at('a'), { type: 'alarm-in', ms: 5000 });
    await clock.advance(4999);
    assert.deepEqual(seen.alarmed, []);
    await clock.advance(1);
    assert.deepEqual(seen.alarmed, ['after 5000']);
    assert.deepEqual([...store.scan(tables.alarms)], []);
    await clock.advance(100_000);
    assert.equal(seen.alarmed.length, 1);
  });

  it('keeps an alarm that was set anew while its message was on its way', async () => {
    const { clock, runtime, seen, store } = setUp();
    await runtime.ask(counter.at('a'), { type: 'alarm-in', ms: 5000 });
    const hanging = runtime.ask(counter.at('a'), { type: 'hang' });
    const setAnew = runtime.ask(counter.at('a'), { type: 'alarm-in', ms: 20_000 });
    await clock.advance(5000);
    seen.unhang();
    await Promise.all([hanging, setAnew]);
    await settle();
    assert.deepEqual(seen.alarmed, ['after 5000']);
    await clock.advance(20_000);
    assert.deepEqual(seen.alarmed, ['after 5000', 'after 20000']);
    assert.deepEqual([...store.scan(tables.alarms)], []);
  });

  it('tells an alarm that was due while nothing ran', async () => {
    const first = setUp();
    await first.runtime.ask(counter.at('a'), { type: 'alarm-in', ms: 10 });
    await first.runtime.close();
    await first.clock.advance(1000);
    const seen: string[] = [];
    const runtime = new ActorRuntime({
      store: first.store,
      clock: first.clock,
      logger: first.logger,
    });
    runtime.register<{ alarmed: { in: { note: string }; out: boolean } }>({
      kind: actorKind('counter'),
      activate: () => ({
        alarmed({ note }) {
          seen.push(note);
          return true;
        },
      }),
    });
    runtime.start();
    await settle();
    assert.deepEqual(seen, ['after 10']);
  });

  it('finishes what was accepted when it drains and refuses what comes after', async () => {
    const { clock, runtime, store } = setUp();
    store.held = true;
    const accepted = runtime.ask(counter.at('a'), { type: 'add', by: 1 });
    const drained = runtime.drain();
    await assert.rejects(
      runtime.ask(counter.at('a'), { type: 'add', by: 1 }),
      code('SHUTTING_DOWN'),
    );
    store.release();
    await settle();
    store.release();
    assert.equal(await accepted, 1);
    await clock.advance(10);
    await drained;
    await runtime.close();
    await runtime.close();
  });
});
