/**
 * Owns the positions of numbered entries in the daemon's logs. They are durable: one small file for
 * each workload in the data directory.
 *
 * 1. After any crash there is a position at or before the last acknowledged entry, or there is none and
 *    the log is counted from its beginning.
 * 2. A file is written once a second at most.
 */
import fs from 'node:fs';
import path from 'node:path';

import { writeFileWhole } from '../../../lib/whole-file.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Position } from './log-cursor.ts';

interface Kept {
  /**
   * When the first entry was written. A log whose first entry has another time has lost its beginning.
   */
  firstTime: string | null;
  /** LogPositions that were acknowledged or pinned, ascending. */
  points: Position[];
}

interface Track extends Kept {
  /** LogPositions that were delivered and are not acknowledged yet, ascending. */
  delivered: Position[];
  cancelSave: (() => void) | null;
  savedAtMs: number;
}

const pointsMax = 4;
const deliveredMax = 1024;
const saveEveryMs = 1000;

export class LogPositions {
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #tracks = new Map<string, Track>();

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** The newest position at or before `afterSeq`; null: the beginning of the log. */
  before(id: string, afterSeq: number): Position | null {
    const { points, delivered } = this.#track(id);
    return [...points, ...delivered].findLast(({ seq }) => seq <= afterSeq) ?? null;
  }

  /** The oldest position, from which the log can be read when its beginning is gone. */
  oldest(id: string): Position | null {
    return this.#track(id).points[0] ?? null;
  }

  /** Whether a log whose first entry has this time is whole. The first time that is given counts. */
  beginsAt(id: string, time: string): boolean {
    const track = this.#track(id);
    if (track.firstTime === null) {
      track.firstTime = time;
      this.#save(id, track);
    }
    return track.firstTime === time;
  }

  /** Entries up to this position were delivered. */
  delivered(id: string, position: Position): void {
    const { delivered } = this.#track(id);
    if (position.seq <= (delivered.at(-1)?.seq ?? 0)) return;
    delivered.push(position);
    // Nobody acknowledges: every other position is enough.
    if (delivered.length > deliveredMax) {
      const kept = delivered.filter((_position, index) => index % 2 === 0);
      delivered.splice(0, delivered.length, ...kept);
    }
  }

  acknowledge(id: string, seq: number): void {
    const track = this.#track(id);
    const count = track.delivered.findLastIndex((position) => position.seq <= seq) + 1;
    const newest = track.delivered.splice(0, count).at(-1);
    if (!newest || newest.seq <= (track.points.at(-1)?.seq ?? 0)) return;
    track.points = [...track.points, newest].slice(-pointsMax);
    this.#save(id, track);
  }

  /**
   * Keeps the first position after a gap: later entries cannot be counted from before it. Durable at
   * once.
   */
  pin(id: string, position: Position): void {
    const track = this.#track(id);
    const older = track.points.filter(({ seq }) => seq < position.seq);
    track.points = [...older, position].slice(-pointsMax);
    this.#write(id, track);
  }

  forget(id: string): void {
    this.#tracks.get(id)?.cancelSave?.();
    this.#tracks.delete(id);
    fs.rmSync(this.#file(id), { force: true });
  }

  close(): void {
    for (const [id, track] of this.#tracks) {
      if (track.cancelSave) this.#write(id, track);
    }
  }

  #track(id: string): Track {
    const known = this.#tracks.get(id);
    if (known) return known;
    const made = { ...this.#read(id), delivered: [], cancelSave: null, savedAtMs: -Infinity };
    this.#tracks.set(id, made);
    return made;
  }

  #read(id: string): Kept {
    try {
      return JSON.parse(fs.readFileSync(this.#file(id), 'utf8')) as Kept;
    } catch {
      return { firstTime: null, points: [] }; // There is no file, or a loss of power cut it short.
    }
  }

  #save(id: string, track: Track): void {
    if (track.cancelSave) return;
    const restMs = track.savedAtMs + saveEveryMs - this.#clock.now();
    if (restMs <= 0) {
      this.#write(id, track);
      return;
    }
    track.cancelSave = this.#clock.after(restMs, () => this.#write(id, track));
  }

  #write(id: string, track: Track): void {
    track.cancelSave?.();
    track.cancelSave = null;
    track.savedAtMs = this.#clock.now();
    const { firstTime, points } = track;
    writeFileWhole(this.#file(id), JSON.stringify({ firstTime, points }), false);
  }

  #file(id: string): string {
    return path.join(this.#dir, `${id}.json`);
  }
}
