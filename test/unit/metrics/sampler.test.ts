import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { UsageSampler } from '../../../src/metrics/sampler.ts';
import type { DriverEvent } from '../../../src/drivers/driver.ts';
import type { Usage, Workload } from '../../../src/protocol/workload.ts';
import type { MetricsSample } from '../../../src/metrics/usage-samples.ts';
import { until } from '../../support/driver-specs.ts';
import { noLog } from '../../support/runner.ts';

const tickMs = 10_000;

class FakePlace {
  nowMs = 5_000;
  readonly written: [owner: string, sample: MetricsSample][] = [];
  readonly rested: string[] = [];
  readonly usage = new Map<string, Usage>();
  readonly asked: number[] = [];
  listed: Workload[] = [];
  broken = false;
  #due: { atMs: number; callback: () => void } | null = null;
  #listener: (event: DriverEvent) => void = () => undefined;
  readonly sampler = new UsageSampler({
    driver: {
      list: () => Promise.resolve(this.listed),
      watch: (listener) => {
        this.#listener = listener;
        return () => undefined;
      },
      usage: () => Promise.reject(new Error('one by one')),
      usages: (ids) => {
        this.asked.push(ids.length);
        if (this.broken) return Promise.reject(new Error('not there'));
        const known = ids.flatMap((id) => {
          const usage = this.usage.get(id);
          return usage ? [[id, usage] as const] : [];
        });
        return Promise.resolve(new Map(known));
      },
    },
    isHere: (owner) => owner !== 'app_elsewhere',
    writer: {
      write: (owner, sample) => this.written.push([owner, sample]),
      rest: (owner) => this.rested.push(owner),
      prune: () => Promise.resolve(),
    },
    clock: {
      now: () => this.nowMs,
      after: (delayMs, callback) => {
        this.#due = { atMs: this.nowMs + delayMs, callback };
        return () => {
          this.#due = null;
        };
      },
    },
    logger: noLog,
  });

  tell(event: DriverEvent): void {
    this.#listener(event);
  }

  /** Goes on to the next look, and waits until it is over. */
  async tick(): Promise<void> {
    const due = this.#due;
    assert.ok(due);
    this.nowMs = due.atMs;
    this.#due = null;
    due.callback();
    await until('the end of the look', () => this.#due !== null);
  }

  get idle(): boolean {
    return this.#due === null;
  }
}

const used = (cpuMs: number, memoryBytes: number, network: number | null = null): Usage => ({
  cpuNs: cpuMs * 1_000_000,
  memoryBytes,
  networkInBytes: network,
  networkOutBytes: network,
});
const running = (id: string, owner: string, startedAtMs: number): Workload => ({
  spec: { id, owner, kind: 'service', port: null },
  state: { phase: 'running', startedAtMs, restarts: 0 },
});
const over = (id: string, owner: string): Workload => ({
  spec: { id, owner, kind: 'service', port: null },
  state: {
    phase: 'ended',
    exit: { code: 0, signal: null, reason: 'stopped', detail: null, atMs: 0 },
  },
});

describe('UsageSampler', () => {
  it('believes no driver about what runs elsewhere', async () => {
    const place = new FakePlace();
    place.listed = [running('app-1', 'app_elsewhere', 0)];
    await place.sampler.start();
    place.tell({ type: 'state', workload: running('app-2', 'app_elsewhere', 0) });
    await place.tick();
    assert.deepEqual(place.asked, []);
  });

  it('looks on the marks of the clock, and asks nobody while nothing runs', async () => {
    const place = new FakePlace();
    await place.sampler.start();
    await place.tick();
    assert.equal(place.nowMs, tickMs);
    assert.deepEqual(place.asked, []);
    place.sampler.close();
    assert.ok(place.idle);
  });

  it('tells what was used since the start, then since the look before', async () => {
    const place = new FakePlace();
    await place.sampler.start();
    place.tell({ type: 'state', workload: running('dep-1', 'app_one', 5_000) });
    place.usage.set('dep-1', used(2_500, 7, 30));
    await place.tick();
    place.usage.set('dep-1', used(22_500, 8, 45));
    await place.tick();
    assert.deepEqual(
      place.written.map(([, { cpu, memoryBytes, networkInBytes }]) => [
        cpu,
        memoryBytes,
        networkInBytes,
      ]),
      [
        [0.5, 7, 30],
        [2, 8, 15],
      ],
    );
    assert.deepEqual(place.written[0]?.[0], 'app_one');
  });

  it('takes what began a moment before into the next sample', async () => {
    const place = new FakePlace();
    await place.sampler.start();
    place.tell({ type: 'state', workload: running('dep-1', 'app_one', 9_998) });
    place.usage.set('dep-1', used(200, 7));
    await place.tick();
    assert.equal(place.written.length, 0);
    place.usage.set('dep-1', used(10_002, 7));
    await place.tick();
    assert.equal(place.written[0]?.[1].cpu, 1);
  });

  it('goes on when the clock was set back', async () => {
    const place = new FakePlace();
    await place.sampler.start();
    place.tell({ type: 'state', workload: running('dep-1', 'app_one', 3_600_000) });
    place.usage.set('dep-1', used(1_000, 7));
    await place.tick();
    place.usage.set('dep-1', used(11_000, 7));
    await place.tick();
    assert.deepEqual(
      place.written.map(([, { cpu }]) => cpu),
      [1],
    );
  });

  it('waits a look for what was found running, whose past it does not know', async () => {
    const place = new FakePlace();
    place.listed = [running('dep-1', 'app_one', 0)];
    place.usage.set('dep-1', used(100_000, 1));
    await place.sampler.start();
    await place.tick();
    assert.equal(place.written.length, 0);
    place.usage.set('dep-1', used(101_000, 1));
    await place.tick();
    assert.equal(place.written[0]?.[1].cpu, 0.1);
  });

  it('adds up what runs for one owner, and takes a smaller counter for a new one', async () => {
    const place = new FakePlace();
    place.listed = [running('dep-1', 'app_one', 0), running('dep-2', 'app_one', 0)];
    place.usage.set('dep-1', used(9_000, 10));
    place.usage.set('dep-2', used(1_000, 20, 5));
    await place.sampler.start();
    await place.tick();
    place.usage.set('dep-1', used(1_000, 10));
    place.usage.set('dep-2', used(2_000, 20, 6));
    await place.tick();
    const sample = place.written[0]?.[1];
    assert.deepEqual([sample?.cpu, sample?.memoryBytes, sample?.networkInBytes], [0.2, 30, 1]);
    assert.equal(place.written.length, 1);
  });

  it('forgets what ended, and builds are no part of it', async () => {
    const place = new FakePlace();
    const build = running('dep-1-build', 'app_one', 0);
    build.spec.kind = 'job';
    place.listed = [running('dep-1', 'app_one', 0), running('dep-2', 'app_one', 0), build];
    await place.sampler.start();
    place.tell({ type: 'state', workload: over('dep-1', 'app_one') });
    assert.deepEqual(place.rested, []);
    place.tell({ type: 'connected', workloads: [build] });
    assert.deepEqual(place.rested, ['app_one']);
    await place.tick();
    assert.deepEqual(place.asked, []);
  });

  it('asks for many twenty-five at a time, and goes on after a driver that did not answer', async () => {
    const place = new FakePlace();
    place.listed = Array.from({ length: 60 }, (_, i) => running(`dep-${String(i)}`, 'app_one', 0));
    await place.sampler.start();
    place.broken = true;
    await place.tick();
    place.broken = false;
    await place.tick();
    assert.deepEqual(place.asked, [25, 25, 25, 10]);
  });
});
