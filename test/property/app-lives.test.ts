import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isOpen } from '../../src/actors/app/core.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import type { DeploymentRecord } from '../../src/store/records/records.ts';
import { tables } from '../../src/store/records/tables.ts';
import { appFixture } from '../support/app-fixture.ts';
import type { AppFixture } from '../support/app-fixture.ts';
import { eventually } from '../support/eventually.ts';

type Step =
  | { do: 'redeploy' | 'stop' | 'start' | 'restart' | 'crash' | 'lose' }
  | { do: 'upload'; blob: number }
  | { do: 'rollback' | 'cancel'; nth: number }
  | { do: 'breaks'; how: 'build' | 'start' | 'not' }
  | { do: 'rest'; turns: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('redeploy' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('stop' as const, 'start' as const, 'restart' as const, 'lose' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('upload' as const), blob: fc.nat(99) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('rollback' as const, 'cancel' as const),
      nth: fc.nat(5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('breaks' as const),
      how: fc.constantFrom('build' as const, 'start' as const, 'not' as const),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('rest' as const), turns: fc.nat(40) }) },
);

describe('an app', () => {
  it('comes to rest as what was asked last, whatever happens and wherever it is cut off', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const f = await appFixture({ options: { healthTimeoutMs: 30 } });
        try {
          f.source.files = { 'package.json': '{"scripts":{"build":"b","start":"s"}}' };
          const { id } = await f.uploaded();
          for (const one of steps) await take(f, id, one);
          await come(f, id);
        } finally {
          await f.close();
        }
      }),
      { numRuns: 60 },
    );
  });
});

async function take(f: AppFixture, id: string, one: Step): Promise<void> {
  switch (one.do) {
    case 'rest':
      for (let turn = 0; turn < one.turns; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      return;
    case 'crash':
      return f.crash();
    case 'lose':
      f.driver.lose();
      return f.crash();
    case 'breaks': {
      const { how } = one;
      f.driver.script = ({ kind }) =>
        kind === 'job'
          ? { exitCode: how === 'build' ? 1 : 0 }
          : { probe: how === 'start' ? 'silent' : 'listening' };
      return;
    }
    case 'upload':
      return expected(f.upload(id, `blob-${String(one.blob)}`));
    case 'redeploy':
      return expected(f.ask(id, { type: 'redeploy', trigger: 'api' }));
    case 'rollback':
    case 'cancel': {
      const all = deployments(f);
      const deploymentId = all[one.nth % Math.max(1, all.length)]?.id ?? 'dpl_none';
      if (one.do === 'cancel') return expected(f.ask(id, { type: 'cancel', deploymentId }));
      return expected(f.ask(id, { type: 'rollback', deploymentId, trigger: 'api' }));
    }
    case 'stop':
    case 'start':
    case 'restart':
      return expected(f.ask(id, { type: one.do }));
  }
}

/** A refusal is an answer; anything else is a bug. */
async function expected(asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.status < 500, String(error));
  }
}

async function come(f: AppFixture, id: string): Promise<void> {
  f.driver.script = ({ kind }) => (kind === 'job' ? { exitCode: 0 } : { probe: 'listening' });
  const { run } = f.app(id);
  for (const one of [run.next, run.live]) if (one) f.driver.setProbe(one.workloadId, 'listening');
  const isAtRest = (): boolean => {
    const app = f.app(id);
    const open = deployments(f).filter(isOpen);
    return open.length === 0 && app.run.next === null && app.run.draining.length === 0;
  };
  await eventually('rest', isAtRest, 5000).catch((error: unknown) => {
    throw new Error(`${String(error)} ${JSON.stringify([f.app(id).run, deployments(f)])}`);
  });
  // Ends what an alarm would start again later.
  await f.crash();
  await eventually(
    'what should run runs',
    () => isAtRest() && (f.app(id).run.live !== null || !mayRun(f, id)),
    5000,
  );
  const app = f.app(id);
  if (app.desired === 'stopped') assert.equal(app.run.live, null);
  const live = app.run.live?.workloadId;
  await eventually('only the live instance', () => f.driver.ids.join() === (live ?? ''), 5000);
  assert.equal(f.driver.targets('web.test')?.length ?? 0, live === undefined ? 0 : 1);
  const kept = new Set(deployments(f).flatMap(({ release }) => release ?? []));
  assert.ok(kept.size <= 3, `${String(kept.size)} releases`);
  for (const deployment of deployments(f)) {
    assert.equal(deployment.release !== null && deployment.status !== 'ready', false);
  }
}

/** Whether it should run and no alarm is set to try again. */
function mayRun(f: AppFixture, id: string): boolean {
  const app = f.app(id);
  const waits = [...f.store.scan(tables.alarms)].length > 0;
  return app.desired === 'running' && app.liveDeploymentId !== null && !waits;
}

function deployments(f: AppFixture): Readonly<DeploymentRecord>[] {
  return [...f.store.scan(tables.deployments)];
}
