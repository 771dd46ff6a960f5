import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  coarseRing,
  encodeSlot,
  fineRing,
  samplesOf,
  slotAt,
} from '../../../src/metrics/sample-ring.ts';
import type { Ring } from '../../../src/metrics/sample-ring.ts';
import { type MetricsSample, usageSamples } from '../../../src/metrics/usage-samples.ts';

const hourMs = 3_600_000;
const nowMs = Date.UTC(2026, 0, 31, 12);

const sampleAt = (atMs: number, more: Partial<MetricsSample> = {}): MetricsSample => ({
  atMs,
  cpu: 0.25,
  memoryBytes: 1_234_567_891,
  networkInBytes: 10,
  networkOutBytes: null,
  ...more,
});

const emptyFile = (): Buffer =>
  Buffer.alloc((fineRing.slots + coarseRing.slots) * usageSamples.slotBytes);

function put(file: Buffer, ring: Ring, sample: MetricsSample): void {
  encodeSlot(usageSamples, sample).copy(file, slotAt(usageSamples.slotBytes, ring, sample.atMs));
}

describe('samplesOf()', () => {
  it('gives a sample as it was written', () => {
    const file = emptyFile();
    put(file, fineRing, sampleAt(nowMs));
    assert.deepEqual(samplesOf(usageSamples, file, nowMs, 1), [sampleAt(nowMs)]);
  });

  it('gives the samples of an hour in order, and only those of the minutes asked for', () => {
    const file = emptyFile();
    for (let atMs = nowMs - 2 * hourMs; atMs <= nowMs; atMs += fineRing.stepMs) {
      put(file, fineRing, sampleAt(atMs));
    }
    const hour = samplesOf(usageSamples, file, nowMs, 60);
    assert.equal(hour.length, 360);
    assert.equal(hour.at(-1)?.atMs, nowMs);
    assert.ok(hour.every(({ atMs }, at) => at === 0 || atMs > (hour[at - 1]?.atMs ?? 0)));
    assert.equal(samplesOf(usageSamples, file, nowMs, 5).length, 30);
  });

  it('leaves out what the clock has passed, and what is of a clock that was ahead', () => {
    const file = emptyFile();
    put(file, fineRing, sampleAt(nowMs - hourMs));
    put(file, fineRing, sampleAt(nowMs + 20_000));
    assert.deepEqual(samplesOf(usageSamples, file, nowMs, 60), []);
  });

  it('gives a day in 360 samples, each for four minutes', () => {
    const file = emptyFile();
    for (let atMs = nowMs - 24 * hourMs; atMs < nowMs; atMs += coarseRing.stepMs) {
      const cpu = (atMs / coarseRing.stepMs) % 2;
      put(file, coarseRing, sampleAt(atMs + 50_000, { cpu }));
    }
    const day = samplesOf(usageSamples, file, nowMs, 1440);
    assert.equal(day.length, 360);
    assert.ok(day.every(({ cpu, networkInBytes }) => cpu === 0.5 && networkInBytes === 40));
    assert.equal(samplesOf(usageSamples, file, nowMs, 360).length, 360);
  });

  it('makes nothing of a file that is short or empty', () => {
    assert.deepEqual(samplesOf(usageSamples, Buffer.alloc(0), nowMs, 1440), []);
    assert.deepEqual(samplesOf(usageSamples, emptyFile().subarray(0, 100), nowMs, 60), []);
  });
});

describe('usageSamples.merge()', () => {
  it('takes the mean of the CPU, the highest memory and the sum of the network', () => {
    const samples = [
      sampleAt(1000, { cpu: 1, memoryBytes: 5, networkInBytes: 1 }),
      sampleAt(2000, { cpu: 0, memoryBytes: 3, networkInBytes: null }),
    ];
    const merged = { cpu: 0.5, memoryBytes: 5, networkInBytes: 1, networkOutBytes: null };
    assert.deepEqual(usageSamples.merge(samples), { atMs: 2000, ...merged });
  });
});
