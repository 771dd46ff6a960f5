import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { actorKind } from '../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';
import { ScriptedStore } from '../support/scripted-store.ts';
import { recordingLogger } from '../support/silent-logger.ts';

type ListProtocol = {
  append: { in: { value: number; pause: boolean; crash: boolean }; out: number[] };
};
const list = actorKind<ListProtocol>('list');
const address = 'list:a';

/** Keeps its list in the store (an alarm record far in the future serves as its row). */
function listDefinition(store: ScriptedStore, violations: string[]) {
  let running = 0;
  return {
    kind: list,
    activate: () => {
      const stored = store.get(tables.alarms, [address, 'row']);
      const values = [...((stored?.message as number[] | undefined) ?? [])];
      return (commit: (values: number[]) => void) => ({
        async append({ value, pause, crash }: { value: number; pause: boolean; crash: boolean }) {
          running += 1;
          if (running > 1) violations.push(`two at a time at ${String(value)}`);
          if (pause) await Promise.resolve();
          running -= 1;
          if (crash) throw new Error('bug');
          values.push(value);
          commit([...values]);
          return [...values];
        },
      });
    },
  };
}

const step = fc.record({
  pause: fc.boolean(),
  crash: fc.boolean(),
  after: fc.constantFrom('nothing', 'release', 'fail', 'settle'),
});

it('an actor handles one message at a time, in order, and a reply never shows what is not stored', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const store = new ScriptedStore();
      store.held = true;
      const clock = new ManualClock();
      const violations: string[] = [];
      const runtime = new ActorRuntime({
        store,
        clock,
        logger: recordingLogger(),
        carry: structuredClone,
      });
      const definition = listDefinition(store, violations);
      runtime.register<ListProtocol>({
        kind: list,
        activate: (context) =>
          definition.activate()((values) => {
            const row = {
              actor: address,
              name: 'row',
              atMs: Number.MAX_SAFE_INTEGER,
              message: values,
            };
            void context.commit([put(tables.alarms, row)]);
          }),
      });
      runtime.start();
      const answered: number[][] = [];
      const asks = steps.map(async ({ pause, crash, after }, value) => {
        const ask = runtime
          .ask(list.at('a'), { type: 'append', value, pause, crash }, { deadlineMs: 1e9 })
          .then((values) => {
            const stored = store.get(tables.alarms, [address, 'row'])?.message as number[];
            assert.deepEqual(
              stored.slice(0, values.length),
              values,
              'a reply shows what is stored',
            );
            answered.push(values);
          })
          .catch((error: unknown) => {
            if (!(error instanceof ServiceError)) violations.push(String(error));
          });
        if (after === 'settle') await settle();
        if (after === 'release') store.release();
        if (after === 'fail') store.fail(new ServiceError('STORAGE_FULL', 'Full.'));
        await ask;
      });
      for (let turn = 0; turn < steps.length * 2 + 4; turn++) {
        store.release();
        await clock.advance(30_000);
      }
      await Promise.all(asks);
      assert.deepEqual(violations, []);
      for (const values of answered) {
        assert.deepEqual(
          values,
          [...values].sort((a, b) => a - b),
          'order of arrival',
        );
        assert.equal(new Set(values).size, values.length, 'each once');
      }
      await runtime.close();
    }),
    { numRuns: 150 },
  );
});
