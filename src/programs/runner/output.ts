/**
 * Owns the way of a workload's output from its pipes into the spool, and whoever waits for more.
 *
 * 1. Bytes of each pipe come in order; an unfinished line is given out after `lineIdleMs`.
 * 2. While someone follows and makes progress, the pipes are read only as fast as he reads; while
 *    nobody does, they are always read, so that a program is never held up by its own log.
 * 3. What comes is taken in turns that all workloads share; meanwhile its pipe is not read.
 * 4. A disk that takes nothing costs entries, counted and told once writing works again; it never
 *    ends the runner.
 */
import type { Readable } from 'node:stream';

import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ReadAnswer } from '../../protocol/runner-messages.ts';
import type { EntryStream } from '../../protocol/workload.ts';
import type { FairTurns, Room } from './fair-turns.ts';
import { type EncodedEntries, LineSplitter } from './line-splitter.ts';
import { Spool, type SpoolOptions } from './spool.ts';

export interface OutputOptions extends SpoolOptions {
  lineIdleMs: number;
  /** Unread bytes at which the pipes are no longer read, and at which they are again. */
  holdBytes: number;
  releaseBytes: number;
  /** A follower that took nothing for so long holds nobody up. */
  followerStallMs: number;
}

/** A pipe that is read. */
interface Intake {
  pipe: Readable;
  splitter: LineSplitter;
  cancelIdle: (() => void) | undefined;
  /** Its last entry is in the spool. */
  done: () => void;
}

/** What came through a pipe and was not taken yet; null: its end. */
interface Piece {
  intake: Intake;
  chunk: Buffer | null;
  atMs: number;
}

interface Waiter {
  afterSeq: number;
  wake: () => void;
}

export class Output {
  readonly #spool: Spool;
  readonly #options: OutputOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #turns: FairTurns;
  readonly #waiters = new Set<Waiter>();
  readonly #pipes = new Set<Readable>();
  /** In the order in which they came. */
  #pieces: Piece[] = [];
  /** Pipes that are not read until all pieces are taken. */
  readonly #paused = new Set<Readable>();
  /** Newest entry a follower has asked behind, and when it last moved. */
  #followedSeq = 0;
  #followedAtMs = -Infinity;
  #held = false;
  #stallWatched = false;
  #lost = 0;
  #ended = false;

  constructor(options: OutputOptions, clock: Clock, logger: Logger, turns: FairTurns) {
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#turns = turns;
    this.#spool = new Spool(options);
  }

  /** Reads a pipe to its end; the promise resolves when its last entry is in the spool. */
  attach(pipe: Readable, stream: 'stdout' | 'stderr'): Promise<void> {
    return new Promise((resolve) => {
      const splitter = new LineSplitter(stream);
      const intake: Intake = { pipe, splitter, cancelIdle: undefined, done: resolve };
      this.#pipes.add(pipe);
      pipe.on('data', (chunk: Buffer) => this.#receive(intake, chunk));
      if (this.#held) pipe.pause();
      pipe.once('error', () => {
        pipe.destroy(); // A pipe that cannot be read any more is at its end.
      });
      pipe.once('close', () => this.#receive(intake, null));
    });
  }

  /** Takes whole lines that come through no pipe. */
  write(lines: Buffer, stream: EntryStream): void {
    this.#append(new LineSplitter(stream).push(lines, this.#clock.now()));
  }

  /** Takes pieces within `room`; see `FairTurns`. */
  take(room: Room): boolean {
    for (let first = this.#pieces[0]; first && hasRoom(room); first = this.#pieces[0]) {
      if (this.#takeOf(first, room)) this.#pieces.shift();
    }
    if (this.#pieces.length > 0) return true;
    for (const pipe of this.#paused) {
      if (!this.#held || !this.#pipes.has(pipe)) pipe.resume();
    }
    this.#paused.clear();
    return false;
  }

  /**
   * Entries behind `afterSeq`, as soon as there are any; `ended` with none when none will come.
   * Undefined when `signal` aborted.
   */
  async read(
    afterSeq: number,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<ReadAnswer | undefined> {
    this.#noteFollower(afterSeq);
    let slice = this.#spool.read(afterSeq, maxBytes);
    while (!slice && !this.#ended) {
      await this.#more(afterSeq, signal);
      if (signal.aborted) return undefined;
      slice = this.#spool.read(afterSeq, maxBytes);
    }
    this.#followedAtMs = this.#clock.now();
    if (!slice) return { firstSeq: afterSeq + 1, records: new Uint8Array(0), ended: true };
    return { ...slice, ended: false };
  }

  /** Lets go of the pipes attached so far: what is left in them is read whoever follows. */
  drain(): void {
    this.#letGo();
    this.#pipes.clear();
  }

  acknowledge(seq: number): void {
    this.#spool.acknowledge(seq);
  }

  /** No entry will come any more: readers that have all are told. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  close(): void {
    this.end();
    this.#pieces = [];
    for (const pipe of this.#pipes) pipe.destroy();
    this.#spool.close();
  }

  #receive(intake: Intake, chunk: Buffer | null): void {
    intake.cancelIdle?.();
    this.#pieces.push({ intake, chunk, atMs: this.#clock.now() });
    this.#turns.offer(this);
    if (this.#pieces.length === 0) return;
    this.#paused.add(intake.pipe);
    intake.pipe.pause();
  }

  /** Whether all of it is taken. */
  #takeOf(piece: Piece, room: Room): boolean {
    const { intake, chunk, atMs } = piece;
    const { splitter, pipe, done } = intake;
    intake.cancelIdle?.();
    if (chunk === null) {
      this.#append(splitter.flush(this.#clock.now()));
      this.#pipes.delete(pipe);
      done();
      return true;
    }
    const taken = splitter.push(chunk.subarray(0, room.bytes), atMs, room.lines);
    this.#append(taken);
    room.lines -= taken.count;
    room.bytes -= taken.used;
    piece.chunk = chunk.subarray(taken.used);
    if (piece.chunk.length > 0) return false;
    if (splitter.pending) intake.cancelIdle = this.#flushLater(intake);
    return true;
  }

  #flushLater(intake: Intake): () => void {
    return this.#clock.after(this.#options.lineIdleMs, () => {
      const goesOn = this.#pieces.some((piece) => piece.intake === intake);
      if (!goesOn) this.#append(intake.splitter.flush(this.#clock.now()));
    });
  }

  #letGo(): void {
    this.#held = false;
    for (const pipe of this.#pipes) if (!this.#paused.has(pipe)) pipe.resume();
  }

  #append({ records, count }: EncodedEntries): void {
    if (count === 0) return;
    try {
      this.#spool.append(records, count);
    } catch (error) {
      if (this.#lost === 0) this.#logger.error({ err: error }, 'log_write_failed');
      this.#lost += count;
      return;
    }
    if (this.#lost > 0) {
      this.#logger.warn({ entries: this.#lost }, 'log_entries_lost');
      this.#lost = 0;
    }
    this.#wake();
    this.#balance();
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (this.#ended || waiter.afterSeq < this.#spool.lastSeq) waiter.wake();
    }
  }

  #more(afterSeq: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const waiter: Waiter = { afterSeq, wake: done };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }

  #noteFollower(afterSeq: number): void {
    this.#followedSeq = afterSeq;
    this.#followedAtMs = this.#clock.now();
    this.#balance();
  }

  /** Holds the pipes while a live follower is far behind, and lets go when he is near again. */
  #balance(): void {
    const followed = this.#clock.now() - this.#followedAtMs < this.#options.followerStallMs;
    const behind = followed ? this.#spool.bytesBehind(this.#followedSeq) : 0;
    if (!this.#held && behind > this.#options.holdBytes) {
      this.#held = true;
      for (const pipe of this.#pipes) pipe.pause();
      this.#watchStall();
    } else if (this.#held && behind <= this.#options.releaseBytes) {
      this.#letGo();
    } else if (this.#held && followed) {
      this.#watchStall();
    }
  }

  /** Looks again when the follower would count as stalled; one look at a time. */
  #watchStall(): void {
    if (this.#stallWatched) return;
    this.#stallWatched = true;
    this.#clock.after(this.#options.followerStallMs, () => {
      this.#stallWatched = false;
      this.#balance();
    });
  }
}

function hasRoom({ lines, bytes }: Room): boolean {
  return lines > 0 && bytes > 0;
}
