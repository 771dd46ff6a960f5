/** Owns the samples of what an app or database uses. */
import type { Sample, SampleKind } from './sample-ring.ts';

export interface MetricsSample extends Sample {
  /** In cores: 1 is one core busy all the time, 2.5 two and a half. */
  cpu: number;
  memoryBytes: number;
  /** Within the sample's time; null where they cannot be told apart from those of others. */
  networkInBytes: number | null;
  networkOutBytes: number | null;
}

/** CPU (f32), memory, bytes in and bytes out (f64; NaN where they cannot be told). */
export const usageSamples: SampleKind<MetricsSample> = {
  ending: '.samples',
  slotBytes: 32,
  encode({ cpu, memoryBytes, networkInBytes, networkOutBytes }, slot) {
    slot.writeFloatLE(cpu, 4);
    slot.writeDoubleLE(memoryBytes, 8);
    slot.writeDoubleLE(networkInBytes ?? NaN, 16);
    slot.writeDoubleLE(networkOutBytes ?? NaN, 24);
  },
  decode(slot, atMs) {
    const orNull = (value: number): number | null => (Number.isFinite(value) ? value : null);
    return {
      atMs,
      // Rounded, because a 32-bit number shows meaningless digits in 64 bits.
      cpu: Number(slot.readFloatLE(4).toPrecision(6)),
      memoryBytes: slot.readDoubleLE(8),
      networkInBytes: orNull(slot.readDoubleLE(16)),
      networkOutBytes: orNull(slot.readDoubleLE(24)),
    };
  },
  /** CPU on average, memory at its highest. */
  merge: (samples) => ({
    atMs: Math.max(...samples.map(({ atMs }) => atMs)),
    cpu: (sumOfKnown(samples.map(({ cpu }) => cpu)) ?? 0) / Math.max(samples.length, 1),
    memoryBytes: Math.max(...samples.map(({ memoryBytes }) => memoryBytes)),
    networkInBytes: sumOfKnown(samples.map(({ networkInBytes }) => networkInBytes)),
    networkOutBytes: sumOfKnown(samples.map(({ networkOutBytes }) => networkOutBytes)),
  }),
};

/** Null where none is known. */
export function sumOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}
