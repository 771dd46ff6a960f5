/** Owns the samples of what visitors asked of an app, and what follows from them. */
import {
  durationBoundsS,
  newCounts,
  trafficAt,
  type TrafficCounts,
  trafficNumbers,
} from '../protocol/traffic.ts';
import type { Sample, SampleKind } from './sample-ring.ts';

export interface TrafficSample extends Sample {
  /** Within the sample's time. */
  counts: TrafficCounts;
}

/** The counts (f32 each). */
export const trafficSamples: SampleKind<TrafficSample> = {
  ending: '.traffic',
  slotBytes: 4 + 4 * trafficNumbers,
  encode({ counts }, slot) {
    for (const [at, count] of counts.entries()) slot.writeFloatLE(count, 4 + 4 * at);
  },
  decode(slot, atMs) {
    const counts = newCounts();
    for (let at = 0; at < trafficNumbers; at++) counts[at] = slot.readFloatLE(4 + 4 * at);
    return { atMs, counts };
  },
  merge(samples) {
    const counts = newCounts();
    for (const sample of samples) {
      for (const [at, count] of sample.counts.entries()) counts[at] = (counts[at] ?? 0) + count;
    }
    return { atMs: Math.max(...samples.map(({ atMs }) => atMs)), counts };
  },
};

/**
 * How long the part `share` (0 to 1) of the answers took at most, in milliseconds: between the bounds of a span it
 * is taken to grow evenly. Null without answers.
 */
export function durationMs(counts: TrafficCounts, share: number): number | null {
  const { durations, seconds } = trafficAt;
  const spans = counts.subarray(durations, seconds);
  const wanted = spans.reduce((total, count) => total + count, 0) * share;
  if (wanted === 0) return null;
  let below = 0;
  for (const [span, bound] of durationBoundsS.entries()) {
    const count = spans[span] ?? 0;
    if (below + count >= wanted) {
      const from = durationBoundsS[span - 1] ?? 0;
      return 1000 * (from + ((bound - from) * (wanted - below)) / count);
    }
    below += count;
  }
  return 1000 * (durationBoundsS.at(-1) ?? 0);
}
