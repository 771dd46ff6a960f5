import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Exit } from '../../../../../src/protocol/workload.ts';
import { appFixture } from '../../../../support/app-fixture.ts';
import type { AppFixture } from '../../../../support/app-fixture.ts';
import { eventually } from '../../../../support/eventually.ts';

describe('an app that ends by itself', () => {
  let f: AppFixture;
  let id: string;
  beforeEach(async () => {
    f = await appFixture();
    ({ id } = await f.uploaded());
    await deploy();
  });
  afterEach(() => f.close());

  async function deploy(): Promise<void> {
    const { id: deployment } = await f.ask(id, { type: 'redeploy', trigger: 'api' });
    await f.until(deployment, 'ready');
  }
  const workload = (): string => f.app(id).run.live?.workloadId ?? '';
  const crashes = () => f.app(id).run.crashes;
  const log = (): string => f.streams.text.get(`app:${id}`) ?? '';
  const notices = () => f.streams.notices.filter(({ notice }) => notice.kind === 'crash');
  const exitAt = (atMs: number, more: Partial<Exit> = {}): Exit => {
    return { code: 1, signal: null, reason: 'exited', detail: null, atMs, ...more };
  };

  it('has nothing to tell while it runs, and when it is stopped', async () => {
    f.driver.revive(workload(), 0);
    await f.ask(id, { type: 'stop' });
    await eventually('gone', () => f.app(id).run.draining.length === 0);
    assert.equal(crashes(), undefined);
    assert.equal(log(), '');
  });

  it('is started on another port when another program has taken its own', async () => {
    const before = f.app(id).run.live;
    f.driver.squat(workload(), 0);
    await eventually('another instance', () => {
      const { live } = f.app(id).run;
      return live !== null && live.workloadId !== before?.workloadId;
    });
    assert.notEqual(f.app(id).run.live?.port, before?.port);
    assert.match(log(), /Another program listens on the port of the app\./);
    assert.equal(f.app(id).status, 'active');
  });

  it('is told with code, count and next try: in the app, in its log, as a notice', async () => {
    const nextStartAtMs = Date.now() + 60_000;
    f.driver.crash(workload(), 0, { code: 3, atMs: 7 }, nextStartAtMs);
    f.driver.crash(workload(), 0, { code: 3, atMs: 7 }, nextStartAtMs);
    await eventually('notice', () => notices().length > 0);
    assert.match(
      log(),
      /^The app exited with code 3\. It is started again in \d\d s \(restart 1 of this release\)\.$/,
    );
    const { restarts, last } = crashes() ?? {};
    assert.equal(restarts, 1);
    assert.deepEqual(
      [last?.atMs, last?.code, last?.signal, last?.reason, last?.workloadId, last?.log],
      [7, 3, null, 'exited', workload(), `app:${id}`],
    );
    const notice = {
      kind: 'crash',
      reason: 'exited',
      code: 3,
      signal: null,
      restarts: 1,
      inRow: 1,
    };
    assert.deepEqual(notices(), [
      { log: `app:${id}`, notice: { ...notice, nextStartAtMs, atMs: 7 } },
    ]);
    assert.equal(f.app(id).status, 'error');
    // Its next run is no news.
    f.driver.revive(workload(), 1, exitAt(7, { code: 3 }));
    await eventually('well again', () => f.app(id).status === 'active');
    assert.equal(crashes()?.restarts, 1);
    assert.equal(notices().length, 1);
  });

  it('says so when it loops, and what ended it', async () => {
    const ends: [Partial<Exit>, RegExp, string][] = [
      [{ code: null, signal: 'SIGSEGV' }, /The app was ended by SIGSEGV\. It is st/, 'killed'],
      [{ code: 0 }, /The app exited with code 0\. It is started again \(restart 2/, 'exited'],
      [
        { signal: 'SIGKILL', cause: 'out_of_memory', detail: 'It used too much.' },
        /It used too much\. It ended 3 times in a row\. It is started again \(restart 3/,
        'out_of_memory',
      ],
      [{ cause: 'unhealthy' }, /its health check failed\. It ended 4 times/, 'unhealthy'],
    ];
    for (const [i, [exit, text, reason]] of ends.entries()) {
      f.driver.crash(workload(), i, { atMs: 1000 * (i + 1), ...exit });
      await eventually(reason, () => text.test(log()));
      assert.equal(crashes()?.last?.reason, reason);
      f.driver.revive(workload(), i + 1);
    }
    f.driver.crash(workload(), ends.length, { atMs: 10_000_000 });
    await eventually('much later', () => log().endsWith('It is started again (restart 5 of this release).')); // prettier-ignore
    assert.equal(crashes()?.last?.inRow, 1);
  });

  it('is told of what nobody saw: by its count, and by its time where that begins anew', async () => {
    f.driver.revive(workload(), 4, exitAt(50));
    await eventually('four', () => crashes()?.restarts === 4);
    await eventually('told', () => /^The app ended 4 times, the last time so: .*It runs again/.test(log())); // prettier-ignore
    // As after a restart of Docker's daemon.
    f.driver.revive(workload(), 0, exitAt(60, { code: null }));
    await eventually('five', () => crashes()?.restarts === 5);
    f.driver.revive(workload(), 0, exitAt(60, { code: null }));
    f.driver.revive(workload(), 1, exitAt(70));
    await eventually('six', () => crashes()?.restarts === 6);
  });

  it('stands in its log once, also when the service crashes before it stands there', async () => {
    const write = f.streams.write.bind(f.streams);
    f.streams.write = () => undefined;
    f.driver.crash(workload(), 0, { atMs: Date.now() });
    await eventually('journaled', () => crashes()?.restarts === 1);
    await f.crash();
    assert.equal(log(), '');
    f.streams.write = write;
    await f.crash();
    await eventually('told', () => log() !== '');
    const once = log();
    await f.crash();
    f.driver.crash(workload(), 1, { code: 9, atMs: Date.now() });
    await eventually('told again', () => log() !== once);
    assert.equal(log().split('exited with code 1').length, 2);
    assert.equal(crashes()?.restarts, 2);
  });

  it('counts anew for another release, not for another start of it, and keeps the last end', async () => {
    f.driver.crash(workload(), 0, { atMs: 7 });
    await eventually('counted', () => crashes()?.restarts === 1);
    f.driver.revive(workload(), 1);
    const first = workload();
    await f.ask(id, { type: 'restart' });
    await eventually('another', () => workload() !== first && workload() !== '');
    assert.equal(crashes()?.restarts, 1);
    await deploy();
    assert.equal(crashes()?.restarts, 0);
    assert.equal(crashes()?.last?.atMs, 7);
  });

  it('does not count what happened before it had the traffic', async () => {
    let starts = 0;
    f.driver.script = (spec) => {
      starts += 1;
      setImmediate(() => {
        f.driver.crash(spec.id, 0);
        f.driver.revive(spec.id, 1, exitAt(5));
        f.driver.setProbe(spec.id, 'listening');
      });
      return { probe: 'silent' };
    };
    await deploy();
    assert.equal(starts, 1);
    f.driver.crash(workload(), 1, { atMs: 9 });
    await eventually('counted', () => crashes()?.restarts !== undefined);
    assert.equal(crashes()?.restarts, 1);
  });

  it('is told when it is lost, and when it cannot be started again', async () => {
    f.driver.beforeStart = () => {
      throw new Error('no');
    };
    f.driver.end(workload(), { code: null, reason: 'lost', detail: 'Its container was removed.' });
    await eventually('no start', () => log().includes('could not be started'));
    await eventually('lost', () => log().includes('Its container was removed. It is started again (restart 1')); // prettier-ignore
    assert.match(log(), /It could not be started: .*\. The next try is in 15 s\./);
    assert.equal(crashes()?.last?.reason, 'killed');
  });
});
