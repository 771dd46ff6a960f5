/**
 * Owns the samples on disk: one file an app or database and kind, written by one thread and read by any.
 *
 * 1. Every thread can read a sample as soon as `write` returned. It is not forced to the disk: a crash
 *    of Gangway loses none, and a power failure those that the system had not written yet.
 * 2. Samples of one slot are merged: of an app's visitors several edges tell.
 * 3. A file that was not written for a day is removed: nothing in it would be read any more.
 */
import fs from 'node:fs';
import path from 'node:path';

import {
  coarseRing,
  encodeSlot,
  fineRing,
  type Ring,
  type Sample,
  type SampleKind,
  samplesOf,
  slotAt,
} from './sample-ring.ts';
import { type TrafficSample, trafficSamples } from './traffic-samples.ts';
import { type MetricsSample, usageSamples } from './usage-samples.ts';

export interface MetricsReader {
  /** Oldest first (see `samplesOf`); empty for an owner without samples. `minutes`: 1 to 1440. */
  read(owner: string, nowMs: number, minutes: number): MetricsSample[];
  /** The same of an app's visitors. */
  readTraffic(app: string, nowMs: number, minutes: number): TrafficSample[];
}

/** More than a day, so that a clock that was set back removes nothing young. */
const keptMs = 25 * 3_600_000;
const idPattern = /^[A-Za-z0-9_-]+$/;

/** `dir`: the folder of metrics in the data directory; it need not be there. */
export function openMetricsReader(dir: string): MetricsReader {
  return {
    read: (owner, nowMs, minutes) => readSamples(usageSamples, dir, owner, nowMs, minutes),
    readTraffic: (app, nowMs, minutes) => readSamples(trafficSamples, dir, app, nowMs, minutes),
  };
}

function readSamples<S extends Sample>(
  kind: SampleKind<S>,
  dir: string,
  owner: string,
  nowMs: number,
  minutes: number,
): S[] {
  let file: Buffer;
  try {
    file = fs.readFileSync(fileOf(kind, dir, owner));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return samplesOf(kind, file, nowMs, minutes);
}

export class MetricsWriter<S extends Sample> {
  readonly #kind: SampleKind<S>;
  readonly #dir: string;
  /** The samples of the present minute, by owner. */
  readonly #minutes = new Map<string, S[]>();

  constructor(kind: SampleKind<S>, dir: string) {
    this.#kind = kind;
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** In ascending order of time for each owner. */
  write(owner: string, sample: S): void {
    const minute = this.#minuteOf(owner, sample);
    const slotOf = ({ atMs }: Sample): number => Math.floor(atMs / fineRing.stepMs);
    const slot = minute.filter((other) => slotOf(other) === slotOf(sample));
    const file = fileOf(this.#kind, this.#dir, owner);
    const fd = fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_CREAT, 0o600);
    try {
      this.#writeSlot(fd, fineRing, this.#kind.merge(slot));
      this.#writeSlot(fd, coarseRing, this.#kind.merge(minute));
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Forgets an owner that does not run any more. What is written stays. */
  rest(owner: string): void {
    this.#minutes.delete(owner);
  }

  async prune(nowMs: number): Promise<void> {
    for (const name of await fs.promises.readdir(this.#dir)) {
      const file = path.join(this.#dir, name);
      const { mtimeMs } = await fs.promises.stat(file);
      if (nowMs - mtimeMs > keptMs) await fs.promises.rm(file, { force: true });
    }
  }

  #writeSlot(fd: number, ring: Ring, sample: S): void {
    const bytes = encodeSlot(this.#kind, sample);
    fs.writeSync(fd, bytes, 0, bytes.length, slotAt(bytes.length, ring, sample.atMs));
  }

  #minuteOf(owner: string, sample: S): readonly S[] {
    const known = this.#minutes.get(owner);
    const minuteOf = ({ atMs }: Sample): number => Math.floor(atMs / coarseRing.stepMs);
    if (known?.[0] && minuteOf(known[0]) === minuteOf(sample)) {
      known.push(sample);
      return known;
    }
    const fresh = [sample];
    this.#minutes.set(owner, fresh);
    return fresh;
  }
}

function fileOf(
  { ending }: Pick<SampleKind<Sample>, 'ending'>,
  dir: string,
  owner: string,
): string {
  if (!idPattern.test(owner)) throw new Error('Cannot name the samples: the id is none');
  return path.join(dir, `${owner}${ending}`);
}
