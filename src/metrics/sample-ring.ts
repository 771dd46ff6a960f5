/**
 * Owns the form of the samples of one app or database: two rings in one file of fixed size.
 *
 *     | one hour, a slot each 10 s: 360 | one day, a slot each minute: 1440 |
 *
 * 1. A slot begins with the end of its time in seconds (u32, little-endian); what follows is up to the kind of
 *    sample. The slot of a sample depends on its time alone, so that an old one is known by the time in it.
 * 2. A file is 1800 slots at most, whatever is written, and a torn write costs one sample.
 */

export interface Sample {
  /** The end of the time it stands for. */
  atMs: number;
}

/** A kind of samples. */
export interface SampleKind<S extends Sample> {
  /** Of the files' names. */
  ending: string;
  slotBytes: number;
  /** Writes what is behind the time, which begins at byte 4. */
  encode(sample: S, slot: Buffer): void;
  decode(slot: Buffer, atMs: number): S;
  /** One sample for the time of several, in order. */
  merge(samples: readonly S[]): S;
}

export interface Ring {
  /** How many slots are before it in the file. */
  slotsBefore: number;
  stepMs: number;
  slots: number;
}

const minuteMs = 60_000;
export const fineRing: Ring = { slotsBefore: 0, stepMs: 10_000, slots: 360 };
export const coarseRing: Ring = { slotsBefore: fineRing.slots, stepMs: minuteMs, slots: 1440 };
/** Samples in one answer. */
const answerMax = 360;

/** Where in the file a sample of this time lies. */
export function slotAt(slotBytes: number, ring: Ring, atMs: number): number {
  return (ring.slotsBefore + (Math.floor(atMs / ring.stepMs) % ring.slots)) * slotBytes;
}

export function encodeSlot<S extends Sample>(kind: SampleKind<S>, sample: S): Buffer {
  const bytes = Buffer.alloc(kind.slotBytes);
  bytes.writeUInt32LE(Math.floor(sample.atMs / 1000), 0);
  kind.encode(sample, bytes);
  return bytes;
}

/**
 * Samples of the last `minutes`, oldest first, at most 360. Up to an hour each stands for 10 s, up to
 * six hours for a minute, and beyond for as many minutes as are needed. There is none for times in
 * which there was nothing to sample.
 */
export function samplesOf<S extends Sample>(
  kind: SampleKind<S>,
  file: Buffer,
  nowMs: number,
  minutes: number,
): S[] {
  const rangeMs = minutes * minuteMs;
  const ring = rangeMs <= fineRing.stepMs * fineRing.slots ? fineRing : coarseRing;
  const sinceMs = nowMs - rangeMs;
  const found: S[] = [];
  for (let slot = 0; slot < ring.slots; slot++) {
    const sample = decodeSlot(kind, file, (ring.slotsBefore + slot) * kind.slotBytes);
    if (sample && sample.atMs > sinceMs && sample.atMs <= nowMs) found.push(sample);
  }
  found.sort((a, b) => a.atMs - b.atMs);
  const perSample = Math.ceil(rangeMs / ring.stepMs / answerMax);
  if (perSample === 1) return found;
  return [...inGroups(found, perSample * ring.stepMs)].map((group) => kind.merge(group));
}

/** Undefined for a slot that is not written, or lies behind the end of the file. */
function decodeSlot<S extends Sample>(
  kind: SampleKind<S>,
  file: Buffer,
  at: number,
): S | undefined {
  if (at + kind.slotBytes > file.length) return undefined;
  const seconds = file.readUInt32LE(at);
  if (seconds === 0) return undefined;
  return kind.decode(file.subarray(at, at + kind.slotBytes), seconds * 1000);
}

/** Groups samples by spans of the clock, so that a second look gives the same groups. */
function* inGroups<S extends Sample>(samples: readonly S[], spanMs: number): Iterable<S[]> {
  let group: S[] = [];
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
