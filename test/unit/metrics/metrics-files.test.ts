import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { MetricsWriter, openMetricsReader } from '../../../src/metrics/metrics-files.ts';
import { trafficSamples } from '../../../src/metrics/traffic-samples.ts';
import { type MetricsSample, usageSamples } from '../../../src/metrics/usage-samples.ts';
import { newCounts } from '../../../src/protocol/traffic.ts';

const startMs = Date.UTC(2026, 0, 31, 12);
const sampleAt = (atMs: number, cpu = 0.5): MetricsSample => ({
  atMs,
  cpu,
  memoryBytes: 1000,
  networkInBytes: 1,
  networkOutBytes: 2,
});

describe('MetricsWriter', () => {
  let dir: string;
  beforeEach(() => {
    dir = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-metrics-')), 'metrics');
  });
  afterEach(() => {
    fs.rmSync(path.dirname(dir), { recursive: true });
  });

  it('writes what any reader can read at once', () => {
    const writer = new MetricsWriter(usageSamples, dir);
    const reader = openMetricsReader(dir);
    assert.deepEqual(reader.read('app_one', startMs, 60), []);
    writer.write('app_one', sampleAt(startMs));
    assert.deepEqual(reader.read('app_one', startMs, 60), [sampleAt(startMs)]);
    assert.deepEqual(reader.read('app_other', startMs, 60), []);
  });

  it('keeps the mean of the minute under way for long ranges', () => {
    const writer = new MetricsWriter(usageSamples, dir);
    const reader = openMetricsReader(dir);
    writer.write('app_one', sampleAt(startMs, 1));
    writer.write('app_one', sampleAt(startMs + 10_000, 0));
    writer.write('app_one', sampleAt(startMs + 60_000, 0.25));
    const atMs = startMs + 60_000;
    assert.deepEqual(
      reader.read('app_one', atMs, 120).map(({ cpu, networkInBytes }) => [cpu, networkInBytes]),
      [
        [0.5, 2],
        [0.25, 1],
      ],
    );
  });

  it('adds up what several edges tell of an app for the same time', () => {
    const writer = new MetricsWriter(trafficSamples, dir);
    const reader = openMetricsReader(dir);
    const write = (atMs: number, requests: number): void =>
      writer.write('app_one', { atMs, counts: newCounts().fill(requests, 0, 1) });
    write(startMs, 3);
    write(startMs + 20, 4);
    write(startMs + 10_000, 5);
    const told = (minutes: number): (number | undefined)[] =>
      reader.readTraffic('app_one', startMs + 10_000, minutes).map(({ counts }) => counts[0]);
    assert.deepEqual(told(60), [7, 5]);
    assert.deepEqual(told(120), [12]);
  });

  it('takes no more than its two rings, however long it writes', () => {
    const writer = new MetricsWriter(usageSamples, dir);
    for (let step = 0; step < 10_000; step++)
      writer.write('app_one', sampleAt(startMs + step * 10_000));
    assert.equal(fs.statSync(path.join(dir, 'app_one.samples')).size, 57_600);
  });

  it('removes what was not written for a day', async () => {
    const writer = new MetricsWriter(usageSamples, dir);
    writer.write('app_old', sampleAt(startMs));
    writer.write('app_new', sampleAt(startMs));
    const dayAgo = (Date.now() - 26 * 3_600_000) / 1000;
    fs.utimesSync(path.join(dir, 'app_old.samples'), dayAgo, dayAgo);
    await writer.prune(Date.now());
    assert.deepEqual(fs.readdirSync(dir), ['app_new.samples']);
  });

  it('makes no file outside its folder, whatever the owner is called', () => {
    assert.throws(() => {
      new MetricsWriter(usageSamples, dir).write('../app', sampleAt(startMs));
    });
    assert.throws(() => openMetricsReader(dir).read('a/b', startMs, 60));
  });
});
