/**
 * Owns all open log streams: who opened them, how many each person has, and how each one ends.
 *
 * A stream keeps nothing that outlives its socket, and only one thread touches it. So it is no actor
 * with a mailbox and an activation: this registry serialises what is done to all streams, and a stream
 * costs one flat object.
 *
 * 1. The first event of a stream is `session`. The last is `exit`, or `failure` with a reason.
 * 2. Only the person who opened a stream may close it. A person who loses the right to see the log
 *    loses the stream within a second.
 * 3. The streams of a person are bounded: each takes a place. None is opened while the service drains.
 */
import { type Clock, systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { formatCursor, sseComment, sseEvent } from '../../protocol/sse.ts';
import type { LogName } from '../files/log.ts';
import type { WatchedLogs } from '../live/channel.ts';
import { Fanout } from './fanout.ts';
import { LoopSlices } from './loop-slices.ts';
import { PingWheel } from './ping-wheel.ts';
import { startOf, type StartPlace, type StreamStart } from './stream-start.ts';
import {
  type CloseOutcome,
  OwnStreamRoom,
  type SharedStreams,
  type StreamRoom,
} from './stream-room.ts';
import type { FrameSink, Person, Viewer } from './viewer.ts';

const exitFrame = Buffer.from(sseEvent('exit', ''));
const pingComment = Buffer.from(sseComment('ping'));
const rightsPerPiece = 32;
const defaultMaxPerPerson = 256;
/** Part of the second within which a lost right has to take effect. */
const recheckPauseMs = 100;

export interface StreamSessionsOptions {
  streams: Pick<WatchedLogs, 'attach'>;
  logger: Logger;
  /** Whether the person may still see the logs of this app or database. Throwing is no. */
  stillAllowed: (person: Person, resourceId: string) => boolean;
  /** Calls back when what `stillAllowed` says may have changed. */
  onRightsChange: (callback: () => void) => () => void;
  clock?: Clock;
  /** Streams a person may have; default 256. */
  maxPerPerson?: number;
  /** Set where other threads have streams, too. */
  shared?: SharedStreams;
  /** Longest frame; default 64 KiB. */
  frameBytes?: number;
  /** Bytes of frames kept for sharing, for each log and variant; default 256 KiB. */
  keepBytes?: number;
  /** Pause between two flushes under load, and how far it stretches; default 50 and 250. */
  flushMs?: number;
  flushMaxMs?: number;
  /** How long fan-out may keep the loop at a time; default 4. */
  sliceMs?: number;
  /** Default 15. */
  pingEveryS?: number;
}

export interface OpenStream {
  person: Person;
  resourceId: string;
  log: LogName;
  start: StreamStart;
  timestamps: boolean;
  notices: boolean;
}

export class StreamSessions {
  readonly #options: StreamSessionsOptions;
  readonly #clock: Clock;
  readonly #viewers = new Map<string, Viewer>();
  readonly #room: StreamRoom;
  readonly #fanouts = new Map<LogName, Fanout>();
  readonly #slices: LoopSlices;
  readonly #wheel: PingWheel;
  readonly #stopListening: () => void;
  /** Viewers whose rights are to be checked again, in turns. */
  readonly #recheck = new Set<Viewer>();
  #cancelRecheck: (() => void) | undefined;
  #draining = false;

  constructor(options: StreamSessionsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#room = options.shared ?? new OwnStreamRoom(options.maxPerPerson ?? defaultMaxPerPerson);
    this.#slices = new LoopSlices(options.sliceMs ?? 4);
    this.#wheel = new PingWheel({
      clock: this.#clock,
      everyS: options.pingEveryS ?? 15,
      ping: (viewers) => this.#ping(viewers),
    });
    // Rights may change with every entry of the journal, and each viewer takes time to check.
    this.#stopListening = options.onRightsChange(() => {
      this.#cancelRecheck ??= this.#clock.after(recheckPauseMs, () => {
        this.#cancelRecheck = undefined;
        for (const viewer of this.#viewers.values()) this.#recheck.add(viewer);
        this.#slices.add(this.#recheckPiece);
      });
    });
  }

  /** Open streams, for the metrics. */
  get size(): number {
    return this.#viewers.size;
  }

  /**
   * Takes a place for a stream of this person; `open` uses it, or `giveBack` returns it. Throws or
   * rejects with TOO_MANY_STREAMS or SHUTTING_DOWN. It is a promise where threads share the places.
   */
  reserve(person: Person): void | Promise<void> {
    this.#assertOpen();
    const reserved = this.#room.reserve(person.userId);
    if (reserved instanceof Promise) return this.#reserved(person, reserved);
    if (!reserved) throw this.#tooMany();
  }

  /** Gives back a place that `reserve` took and no stream used. */
  giveBack(person: Person): void {
    this.#room.release(person.userId);
  }

  /**
   * Begins a stream at a place that was reserved for it. Returns what to call when its client has left.
   * A person who lost the right while the place was waited for is told so at once.
   */
  open(init: OpenStream, sink: FrameSink): { sessionId: string; left: () => void } {
    const { fanout, start } = this.#startOf(init);
    const sessionId = newId('str', this.#clock.now());
    const { nextOffset } = start;
    const { person, resourceId, timestamps, notices } = init;
    const viewer: Viewer = {
      ...{ sessionId, person, resourceId, sink, home: fanout, timestamps, notices },
      phase: 'catching',
      nextOffset,
      noticeNumber: fanout.channel.noticeNumber,
      place: -1,
      spoke: -1,
      onWritable: undefined,
    };
    this.#viewers.set(sessionId, viewer);
    this.#wheel.add(viewer);
    fanout.add(viewer);
    const id =
      start.generation === undefined
        ? undefined
        : formatCursor({ generation: start.generation, offset: nextOffset - 1 });
    const comment = start.renewed ? sseComment('new generation') : '';
    fanout.write(viewer, Buffer.from(sseEvent('session', sessionId, id) + comment));
    if (this.#options.shared !== undefined) {
      this.#recheck.add(viewer);
      this.#slices.add(this.#recheckPiece);
    }
    return { sessionId, left: () => this.#forget(viewer) };
  }

  /** Ends a stream of any thread with `exit`, if this person opened it. */
  closeAnywhere(sessionId: string, userId: string): CloseOutcome | Promise<CloseOutcome> {
    const outcome = this.close(sessionId, userId);
    const { shared } = this.#options;
    return outcome === 'gone' && shared ? shared.close({ sessionId, userId }) : outcome;
  }

  /** The same for streams of this thread. */
  close(sessionId: string, userId: string): CloseOutcome {
    const viewer = this.#viewers.get(sessionId);
    if (viewer === undefined) return 'gone';
    if (viewer.person.userId !== userId) return 'foreign';
    this.#end(viewer, exitFrame);
    return 'closed';
  }

  /** Ends all streams with `exit` and opens no more. Resolves when all have ended. */
  drain(): Promise<void> {
    this.#draining = true;
    this.#stopListening();
    this.#cancelRecheck?.();
    return new Promise((resolve) => {
      this.#slices.add(() => {
        let left = rightsPerPiece;
        for (const viewer of this.#viewers.values()) {
          if (left-- === 0) return true;
          this.#end(viewer, exitFrame);
        }
        resolve();
        return false;
      });
    });
  }

  async #reserved(person: Person, reserved: Promise<boolean>): Promise<void> {
    if (!(await reserved)) throw this.#tooMany();
    try {
      this.#assertOpen();
    } catch (error) {
      this.giveBack(person);
      throw error;
    }
  }

  #assertOpen(): void {
    if (this.#draining) throw new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
  }

  #tooMany(): ServiceError {
    const max = String(this.#options.maxPerPerson ?? defaultMaxPerPerson);
    return new ServiceError(
      'TOO_MANY_STREAMS',
      `At most ${max} log streams may be open at a time; close one first.`,
    );
  }

  #startOf({ log, start, person }: OpenStream): { fanout: Fanout; start: StartPlace } {
    try {
      const fanout = this.#fanoutOf(log);
      return { fanout, start: startOf(fanout.channel, start, this.#clock.now()) };
    } catch (error) {
      this.giveBack(person);
      throw error;
    }
  }

  #fanoutOf(log: LogName): Fanout {
    const held = this.#fanouts.get(log);
    // A log that failed, or was dropped and made anew, is another log: its new viewers get a fan-out of
    // their own.
    if (held?.channel.current === true) return held;
    const options = this.#options;
    const fanout: Fanout = new Fanout({
      attach: (wake) => options.streams.attach(log, wake),
      slices: this.#slices,
      clock: this.#clock,
      frameBytes: options.frameBytes ?? 64 * 1024,
      keepBytes: options.keepBytes ?? 256 * 1024,
      flushMs: options.flushMs ?? 50,
      flushMaxMs: options.flushMaxMs ?? 250,
      onComplete: (viewer) => {
        const { failure } = fanout.channel;
        if (failure === undefined) this.#end(viewer, exitFrame);
        else this.#fail(viewer, failure);
      },
      onFailure: (viewer, error) => {
        options.logger.error({ log, sessionId: viewer.sessionId, err: error }, 'log_stream_failed');
        this.#fail(viewer, 'The log could not be read.');
      },
      onUnused: () => {
        if (this.#fanouts.get(log) === fanout) this.#fanouts.delete(log);
      },
    });
    this.#fanouts.set(log, fanout);
    return fanout;
  }

  #ping(viewers: ReadonlySet<Viewer>): void {
    const waiting = [...viewers];
    this.#slices.add(() => {
      for (const viewer of waiting.splice(-rightsPerPiece)) {
        // A session that expires changes nothing in the store, so it is noticed here.
        this.#recheck.add(viewer);
        // A full socket gets no ping: a client that never reads would fill our memory.
        if (viewer.phase !== 'stalled') viewer.home.write(viewer, pingComment);
      }
      this.#slices.add(this.#recheckPiece);
      return waiting.length > 0;
    });
  }

  readonly #recheckPiece = (): boolean => {
    let left = rightsPerPiece;
    for (const viewer of this.#recheck) {
      if (left-- === 0) return true;
      this.#recheck.delete(viewer);
      if (viewer.phase === 'closed' || this.#mayStill(viewer)) continue;
      this.#fail(viewer, 'You may no longer see this log.');
    }
    return false;
  };

  #mayStill(viewer: Viewer): boolean {
    try {
      return this.#options.stillAllowed(viewer.person, viewer.resourceId);
    } catch (error) {
      const { sessionId } = viewer;
      this.#options.logger.warn({ sessionId, err: error }, 'log_stream_rights_unknown');
      return false;
    }
  }

  #fail(viewer: Viewer, reason: string): void {
    this.#end(viewer, Buffer.from(sseEvent('failure', reason)));
  }

  #end(viewer: Viewer, lastFrame: Buffer): void {
    if (viewer.phase === 'closed') return;
    this.#forget(viewer);
    viewer.sink.end(lastFrame);
  }

  #forget(viewer: Viewer): void {
    if (viewer.phase === 'closed') return;
    viewer.phase = 'closed';
    this.#viewers.delete(viewer.sessionId);
    this.#recheck.delete(viewer);
    this.#room.release(viewer.person.userId);
    this.#wheel.remove(viewer);
    viewer.home.remove(viewer);
  }
}
