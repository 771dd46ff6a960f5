/**
 * Owns how entries of a container's log are numbered, although the daemon does not number them.
 *
 * 1. Entries are counted in the order of the log. A position names an entry by its time, its stream, a
 *    digest of its bytes and how many equal ones come before it. So it is found again in another
 *    reading, whatever else has the same time.
 * 2. A reading may begin anywhere that is at least `slackMs` before that time. Entries up to the
 *    position are skipped, and those after it are counted.
 * 3. On one output times never go back. Entries whose time does were taken before: a daemon that
 *    rotates its files while they are followed sends the newest file again. That is over in a moment.
 *    When it is not, the clock was set back, and the entries are new.
 */
import { hash } from 'node:crypto';

import type { LogEntry } from '../../../protocol/workload.ts';
import type { Frame } from './stream-frames.ts';

export interface Position {
  seq: number;
  /** RFC 3339 in UTC with nine digits: text order is time order. */
  time: string;
  stream: 'stdout' | 'stderr';
  digest: string;
  /** 1 for the first entry with this time, stream and bytes. */
  nth: number;
}

export interface TimedFrame extends Frame {
  time: string;
}

/** The two outputs are copied into the log by turns, so entries may be out of order by this much. */
const slackMs = 2000;
/** By then a daemon has sent all of a file again. */
const repeatingMs = 60_000;

/** Splits the time off a frame of a log that was asked for with times. Throws RangeError. */
export function timed(frame: Frame): TimedFrame {
  const space = frame.bytes.indexOf(0x20);
  const text = frame.bytes.toString('latin1', 0, space);
  const [seconds, fraction = ''] = text.slice(0, -1).split('.');
  if (space === -1 || !text.endsWith('Z') || seconds?.length !== 19) {
    throw new RangeError('Cannot read the log of a container: an entry has no time');
  }
  return {
    stream: frame.stream,
    time: `${seconds}.${fraction.padEnd(9, '0')}Z`,
    bytes: frame.bytes.subarray(space + 1),
  };
}

function secondsOf(time: string): number {
  return Date.parse(`${time.slice(0, 19)}Z`) / 1000;
}

export function msOf(time: string): number {
  return Date.parse(`${time.slice(0, 23)}Z`);
}

const pieceBytes = 16 * 1024;
const newline = 10;

function isPiece({ bytes }: TimedFrame): boolean {
  return bytes.length === pieceBytes && bytes.at(-1) !== newline;
}

/**
 * Tells new entries of one output from entries that come again, and counts equal ones with the same
 * time. The daemon reads its clock for each line, so only pieces of one line have the same time and may
 * be equal.
 */
class SameTime {
  #time = '';
  /** The first entry of this time; it is hashed only when a second one comes. */
  #first: TimedFrame | undefined;
  #counts = new Map<string, number>();
  /**
   * How often each entry of the newest time will still come again, after older entries came again.
   * 'all': as often as they were counted.
   */
  #again: Map<string, number> | 'all' | undefined;
  /** Since when all entries that came were older than the newest time. */
  #behindSinceMs: number | undefined;

  /** Whether the frame is new. `nowMs`: when it came. */
  add(frame: TimedFrame, nowMs: number): boolean {
    if (frame.time < this.#time) {
      this.#again = 'all';
      this.#behindSinceMs ??= nowMs;
      if (nowMs - this.#behindSinceMs < repeatingMs) return false;
    }
    this.#behindSinceMs = undefined;
    if (frame.time !== this.#time) {
      this.#time = frame.time;
      this.#first = frame;
      this.#again = undefined;
      if (this.#counts.size > 0) this.#counts = new Map();
      return true;
    }
    if (this.#first) this.#count(digestOf(this.#first.bytes));
    this.#first = undefined;
    const digest = digestOf(frame.bytes);
    if (isPiece(frame)) {
      if (this.#comesAgain(digest)) return false;
    } else if (this.#counts.has(digest)) {
      this.#again ??= 'all';
      return false;
    }
    this.#count(digest);
    return true;
  }

  /** `Position.nth` of the new frame that was added last. */
  nth(digest: string): number {
    return this.#first ? 1 : (this.#counts.get(digest) ?? 1);
  }

  #comesAgain(digest: string): boolean {
    if (this.#again === undefined) return false;
    if (this.#again === 'all') this.#again = new Map(this.#counts);
    const left = this.#again.get(digest) ?? 0;
    this.#again.set(digest, left - 1);
    return left > 0;
  }

  #count(digest: string): void {
    this.#counts.set(digest, (this.#counts.get(digest) ?? 0) + 1);
  }
}

/**
 * Restores the ends of long lines. The daemon cuts them into pieces of 16 KiB with the same time, and
 * some versions lose the newline after the last piece.
 */
class Pieces {
  #openTime = '';

  mend(frame: TimedFrame): TimedFrame {
    const { bytes, time } = frame;
    const whole = bytes.at(-1) === newline;
    const continues = this.#openTime === time;
    this.#openTime = isPiece(frame) ? time : '';
    if (whole || !continues || this.#openTime !== '') return frame;
    return { ...frame, bytes: Buffer.concat([bytes, Buffer.of(newline)]) };
  }
}

function digestOf(bytes: Buffer): string {
  return hash('sha1', bytes, 'base64url');
}

/** One reading of the log. */
export class LogReading {
  readonly #from: Position | null;
  readonly #pieces = { stdout: new Pieces(), stderr: new Pieces() };
  readonly #same = { stdout: new SameTime(), stderr: new SameTime() };
  /** Whether the position was found; true from the start when the log is read from its beginning. */
  #found: boolean;
  #matches = 0;
  #seq: number;
  #last: TimedFrame | undefined;

  /**
   * `from` null: the log is read from its beginning. `lost`: the entry of the position is no longer in
   * the log, and neither are the first `told` entries.
   */
  constructor(from: Position | null, lost = false, told = 0) {
    this.#from = from;
    this.#found = from === null || lost;
    const before = from?.seq ?? 0;
    this.#seq = lost ? Math.max(before, told) : before;
    this.since =
      from === null
        ? '0'
        : lost
          ? justAfter(from.time)
          : `${secondsOf(from.time) - slackMs / 1000}.${from.time.slice(20, 29)}`;
  }

  /** The time from which the daemon is asked for entries. */
  readonly since: string;

  /** Whether the position is still looked for. */
  get seeking(): boolean {
    return !this.#found;
  }

  /**
   * The entry for this frame, which came at `nowMs`. Null while skipping, and for a frame that comes
   * again; `passed` when the position can no longer come.
   */
  take(cut: TimedFrame, nowMs = Date.now()): LogEntry | 'passed' | null {
    if (!this.#same[cut.stream].add(cut, nowMs)) return null;
    const frame = this.#pieces[cut.stream].mend(cut);
    if (!this.#found) return this.#seek(frame);
    this.#last = frame;
    this.#seq++;
    return {
      seq: this.#seq,
      atMs: msOf(frame.time),
      stream: frame.stream,
      bytes: frame.bytes,
    };
  }

  /** The position of the entry that `take` gave last. */
  position(): Position | null {
    const frame = this.#last;
    if (!frame) return this.#from;
    const { time, stream, bytes } = frame;
    const digest = digestOf(bytes);
    return { seq: this.#seq, time, stream, digest, nth: this.#same[stream].nth(digest) };
  }

  #seek(frame: TimedFrame): null | 'passed' {
    const from = this.#from;
    if (!from) return null;
    if (frame.time === from.time && frame.stream === from.stream) {
      if (digestOf(frame.bytes) === from.digest && ++this.#matches === from.nth) this.#found = true;
      return null;
    }
    return msOf(frame.time) > msOf(from.time) + slackMs ? 'passed' : null;
  }
}

function justAfter(time: string): string {
  const nanos = Number(time.slice(20, 29)) + 1;
  if (nanos === 1_000_000_000) return `${secondsOf(time) + 1}.000000000`;
  return `${secondsOf(time)}.${String(nanos).padStart(9, '0')}`;
}
