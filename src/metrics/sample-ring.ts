/**
 * Owns the form of the samples of one app or database: two rings in one file of fixed size.
 *
 *     | one hour, a slot each 10 s: 360 | one day, a slot each minute: 1440 |
 *
 * 1. A slot is 32 bytes, little-endian: end of its time in seconds (u32), CPU (f32), memory, bytes in
 *    and bytes out (f64; NaN where they cannot be told). The slot of a sample depends on its time
 *    alone, so that an old one is known by the time in it.
 * 2. A file is 57,600 bytes at most, whatever is written, and a torn write costs one sample.
 */

export interface MetricsSample {
  /** The end of the time it stands for. */
  atMs: number;
  /** In cores: 1 is one core busy all the time, 2.5 two and a half. */
  cpu: number;
  memoryBytes: number;
  /** Within the sample's time; null where they cannot be told apart from those of others. */
  networkInBytes: number | null;
  networkOutBytes: number | null;
}

export interface Ring {
  /** Where it begins in the file. */
  at: number;
  stepMs: number;
  slots: number;
}

export const slotBytes = 32;
const minuteMs = 60_000;
export const fineRing: Ring = { at: 0, stepMs: 10_000, slots: 360 };
export const coarseRing: Ring = {
  at: fineRing.slots * slotBytes,
  stepMs: minuteMs,
  slots: 1440,
};
/** Samples in one answer. */
const answerMax = 360;

/** Where in the file a sample of this time lies. */
export function slotAt(ring: Ring, atMs: number): number {
  return ring.at + (Math.floor(atMs / ring.stepMs) % ring.slots) * slotBytes;
}

export function encodeSlot(sample: MetricsSample): Buffer {
  const bytes = Buffer.alloc(slotBytes);
  bytes.writeUInt32LE(Math.floor(sample.atMs / 1000), 0);
  bytes.writeFloatLE(sample.cpu, 4);
  bytes.writeDoubleLE(sample.memoryBytes, 8);
  bytes.writeDoubleLE(sample.networkInBytes ?? NaN, 16);
  bytes.writeDoubleLE(sample.networkOutBytes ?? NaN, 24);
  return bytes;
}

/** Null where none is known. */
export function sumOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}

/** One sample for the time of several, in order: CPU on average, memory at its highest. */
export function mergeSamples(samples: readonly MetricsSample[]): MetricsSample {
  return {
    atMs: Math.max(...samples.map(({ atMs }) => atMs)),
    cpu: (sumOfKnown(samples.map(({ cpu }) => cpu)) ?? 0) / Math.max(samples.length, 1),
    memoryBytes: Math.max(...samples.map(({ memoryBytes }) => memoryBytes)),
    networkInBytes: sumOfKnown(samples.map(({ networkInBytes }) => networkInBytes)),
    networkOutBytes: sumOfKnown(samples.map(({ networkOutBytes }) => networkOutBytes)),
  };
}

/**
 * Samples of the last `minutes`, oldest first, at most 360. Up to an hour each stands for 10 s, up to
 * six hours for a minute, and beyond for as many minutes as are needed. There is none for times in
 * which nothing ran.
 */
export function samplesOf(file: Buffer, nowMs: number, minutes: number): MetricsSample[] {
  const rangeMs = minutes * minuteMs;
  const ring = rangeMs <= fineRing.stepMs * fineRing.slots ? fineRing : coarseRing;
  const sinceMs = nowMs - rangeMs;
  const found: MetricsSample[] = [];
  for (let slot = 0; slot < ring.slots; slot++) {
    const sample = decodeSlot(file, ring.at + slot * slotBytes);
    if (sample && sample.atMs > sinceMs && sample.atMs <= nowMs) found.push(sample);
  }
  found.sort((a, b) => a.atMs - b.atMs);
  const perSample = Math.ceil(rangeMs / ring.stepMs / answerMax);
  return perSample === 1 ? found : [...inGroups(found, perSample * ring.stepMs)].map(mergeSamples);
}

/** Undefined for a slot that is not written, or lies behind the end of the file. */
function decodeSlot(file: Buffer, at: number): MetricsSample | undefined {
  if (at + slotBytes > file.length) return undefined;
  const seconds = file.readUInt32LE(at);
  if (seconds === 0) return undefined;
  const orNull = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    atMs: seconds * 1000,
    // Rounded, because a 32-bit number shows meaningless digits in 64 bits.
    cpu: Number(file.readFloatLE(at + 4).toPrecision(6)),
    memoryBytes: file.readDoubleLE(at + 8),
    networkInBytes: orNull(file.readDoubleLE(at + 16)),
    networkOutBytes: orNull(file.readDoubleLE(at + 24)),
  };
}

/** Groups samples by spans of the clock, so that a second look gives the same groups. */
function* inGroups(samples: readonly MetricsSample[], spanMs: number): Iterable<MetricsSample[]> {
  let group: MetricsSample[] = [];
  for (const sample of samples) {
    const [first] = group;
    if (first && Math.floor(first.atMs / spanMs) !== Math.floor(sample.atMs / spanMs)) {
      yield group;
      group = [];
    }
    group.push(sample);
  }
  if (group.length > 0) yield group;
}
