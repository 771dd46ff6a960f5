import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { awaitHealth, describeListeners } from '../../../../../src/actors/app/running/health.ts';
import type { WorkloadSpec } from '../../../../../src/protocol/workload.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { ScriptedDriver } from '../../../../support/scripted-driver.ts';

describe('an app that listens elsewhere', () => {
  it('is told where: another port, another address, several', () => {
    const [one, all] = [
      { address: '127.0.0.1', port: 8000 },
      { address: '::', port: 9229 },
    ];
    const told = (listeners: (typeof one)[], port = 43211, runs: 'host' | 'image' = 'host') =>
      describeListeners(listeners, port, runs);
    assert.equal(told([]), null);
    assert.equal(told([one]), 'it listens on port 8000 (127.0.0.1:8000), not on PORT 43211');
    assert.equal(
      told([all, one, { ...one, address: '::1' }]),
      'it listens on ports 8000 (127.0.0.1:8000, [::1]:8000), 9229 ([::]:9229), not on PORT 43211',
    );
    const many = Array.from({ length: 9 }, (_, i) => ({ ...one, port: 1 + i }));
    assert.match(told(many) ?? '', /4 \(127\.0\.0\.1:4\) and 5 more, not on/);
    assert.match(told([one, all], 8000, 'image') ?? '', /127\.0\.0\.1:8000 alone, .* 0\.0\.0\.0$/);
    const far = { address: '192.0.2.7', port: 8000 };
    assert.equal(told([far], 8000), 'it listens on 192.0.2.7:8000, not on 127.0.0.1');
  });

  async function started() {
    const [driver, clock] = [new ScriptedDriver(), new ManualClock()];
    driver.script = () => ({ probe: 'silent' });
    const workloadId = 'dpl_1-1';
    await driver.start({ id: workloadId, kind: 'service', port: 43211 } as WorkloadSpec);
    driver.listening = [{ address: '127.0.0.1', port: 8000 }];
    const said: string[] = [];
    const health = awaitHealth({
      ...{ driver, clock, workloadId, port: 43211, shownPort: 43211 },
      check: () => Promise.resolve(null),
      path: null,
      hostHeader: 'a',
      timeoutMs: 60_000,
      say: (line) => said.push(line),
      signal: new AbortController().signal,
    });
    return { driver, clock, workloadId, said, health };
  }

  it('is told after ten seconds, once, and in the reason after sixty', async () => {
    const { clock, said, health } = await started();
    await clock.advance(9_000);
    assert.deepEqual(said, []);
    await clock.advance(2_000);
    const told = 'It listens on port 8000 (127.0.0.1:8000), not on PORT 43211.';
    assert.deepEqual(said, [told]);
    await clock.advance(51_000);
    const reason = `The app was not healthy within 60 s: ${told.replace('It', 'it')}`;
    assert.deepEqual(await health, { kind: 'failed', reason });
    assert.equal(said.length, 1);
  });

  it('may still come to listen where it should', async () => {
    const { driver, clock, workloadId, said, health } = await started();
    await clock.advance(20_000);
    assert.equal(said.length, 1);
    driver.setProbe(workloadId, 'listening');
    await clock.advance(1_000);
    assert.equal((await health).kind, 'healthy');
  });
});
