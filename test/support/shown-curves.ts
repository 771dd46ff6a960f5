/** An hour of curves of apps and databases, written where the service reads them. */
import { join } from 'node:path';
import { MetricsWriter } from '../../src/metrics/metrics-files.ts';
import { trafficSamples } from '../../src/metrics/traffic-samples.ts';
import { usageSamples } from '../../src/metrics/usage-samples.ts';
import { newCounts, trafficAt, type TrafficCounts } from '../../src/protocol/traffic.ts';

const stepMs = 10_000;
const steps = 340;

/** `visited` have visitors, too. */
export function writeCurves(
  dataDir: string,
  visited: readonly string[],
  others: readonly string[],
): void {
  const dir = join(dataDir, 'metrics');
  const usage = new MetricsWriter(usageSamples, dir);
  const traffic = new MetricsWriter(trafficSamples, dir);
  const endMs = Math.floor(Date.now() / stepMs) * stepMs - 2 * stepMs;
  for (let step = 0; step < steps; step++) {
    const atMs = endMs - (steps - step) * stepMs;
    const wave = 1 + Math.sin(step / 23) / 2 + Math.sin(step / 5) / 8;
    for (const owner of [...visited, ...others]) {
      usage.write(owner, {
        atMs,
        cpu: 0.12 * wave,
        memoryBytes: (90 + 20 * wave + step / 10) * 1024 * 1024,
        networkInBytes: 40_000 * wave,
        networkOutBytes: 300_000 * wave,
      });
    }
    for (const app of visited)
      traffic.write(app, { atMs, counts: countsOf(Math.round(80 * wave)) });
  }
}

function countsOf(requests: number): TrafficCounts {
  const counts = newCounts();
  const failed = Math.floor(requests / 60);
  counts.set([requests - failed, 0, Math.floor(requests / 25), failed], trafficAt.classes);
  counts.set(
    [requests * 0.5, requests * 0.3, requests * 0.15, requests * 0.05],
    trafficAt.durations,
  );
  counts[trafficAt.seconds] = requests * 0.012;
  counts[trafficAt.bytesIn] = requests * 500;
  counts[trafficAt.bytesOut] = requests * 4_000;
  return counts;
}
