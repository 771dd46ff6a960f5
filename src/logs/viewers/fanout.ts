/**
 * Owns sending one live log to all its viewers.
 *
 * 1. Viewers that keep up get one frame a flush, made once for all of them. The time between two
 *    flushes depends on what a flush takes (`FlushPace`).
 * 2. Viewers that are behind catch up at the speed of their sockets, in turns.
 * 3. A viewer that does not read costs nothing but the frame that its socket already took.
 * 4. Work is done in pieces of a few writes, so that the event loop never waits for long.
 */
import type { Clock } from '../../lib/clock.ts';
import { sseEvent } from '../../protocol/sse.ts';
import type { ChannelView, LogChannel } from '../live/channel.ts';
import type { StreamNotice } from '../live/log-streams.ts';
import { FlushPace } from './flush-pace.ts';
import { LogFrames } from './log-frames.ts';
import type { LoopSlices } from './loop-slices.ts';
import type { Viewer, ViewerHome } from './viewer.ts';

const writesPerPiece = 16;
export interface FanoutOptions {
  attach: (wake: () => void) => ChannelView;
  slices: LoopSlices;
  clock: Clock;
  frameBytes: number;
  keepBytes: number;
  flushMs: number;
  flushMaxMs: number;
  /** The viewer has got everything, and nothing more will come. */
  onComplete: (viewer: Viewer) => void;
  /** Its lines could not be read. */
  onFailure: (viewer: Viewer, error: unknown) => void;
  onUnused: () => void;
}

type Round =
  | { phase: 'rest' }
  | { phase: 'running'; startedAtMs: number; next: number; again: boolean }
  | { phase: 'waiting' };

export class Fanout implements ViewerHome {
  readonly #options: FanoutOptions;
  readonly #view: ChannelView;
  readonly #frames: LogFrames;
  readonly #pace: FlushPace;
  readonly #viewers: Viewer[] = [];
  /** Viewers that are catching up, in the order of their turns. */
  readonly #catching = new Set<Viewer>();
  #round: Round = { phase: 'rest' };
  /**
   * The offset behind the newest line when the last flush began. No frame goes beyond it. So all
   * viewers that keep up stand at one offset, however long a flush takes, and share the next frame.
   */
  #flushEnd: number;

  constructor(options: FanoutOptions) {
    this.#options = options;
    this.#view = options.attach(() => this.#flush());
    this.#frames = new LogFrames({ channel: this.#view.channel, keepBytes: options.keepBytes });
    this.#pace = new FlushPace(options);
    this.#flushEnd = this.channel.nextOffset;
  }

  get channel(): LogChannel {
    return this.#view.channel;
  }

  get size(): number {
    return this.#viewers.length;
  }

  add(viewer: Viewer): void {
    viewer.place = this.#viewers.length;
    this.#viewers.push(viewer);
    this.#catchUp(viewer);
  }

  remove(viewer: Viewer): void {
    if (viewer.place === -1) return;
    const last = this.#viewers.pop();
    if (last !== undefined && last !== viewer) {
      this.#viewers[viewer.place] = last;
      last.place = viewer.place;
      // The round may have passed the viewer that moved here.
      if (this.#round.phase === 'running') this.#round.again = true;
    }
    viewer.place = -1;
    this.#catching.delete(viewer);
    if (this.#viewers.length > 0) return;
    this.#view.detach();
    this.#options.onUnused();
  }

  write(viewer: Viewer, bytes: Uint8Array): void {
    if (viewer.phase === 'closed') return;
    if (!viewer.sink.write(bytes)) this.#stall(viewer);
  }

  #stall(viewer: Viewer): void {
    if (viewer.phase === 'closed') return;
    viewer.phase = 'stalled';
    this.#catching.delete(viewer);
    viewer.onWritable ??= () => {
      if (viewer.phase === 'stalled') this.#catchUp(viewer);
    };
    viewer.sink.onWritable(viewer.onWritable);
  }

  #catchUp(viewer: Viewer): void {
    // A new viewer may have stalled on its very first bytes.
    viewer.phase = 'catching';
    this.#catching.add(viewer);
    this.#options.slices.add(this.#catchUpPiece);
  }

  readonly #catchUpPiece = (): boolean => {
    let writes = 0;
    for (const viewer of this.#catching) {
      this.#catching.delete(viewer);
      if (this.#serve(viewer)) this.#catching.add(viewer);
      if (++writes >= writesPerPiece) break;
    }
    return this.#catching.size > 0;
  };

  #flush(): void {
    switch (this.#round.phase) {
      case 'rest':
        this.#flushEnd = this.channel.nextOffset;
        this.#round = { phase: 'running', startedAtMs: performance.now(), next: 0, again: false };
        this.#options.slices.add(this.#roundPiece);
        return;
      case 'running':
        this.#round.again = true;
        return;
      case 'waiting':
        return;
    }
  }

  readonly #roundPiece = (): boolean => {
    const round = this.#round;
    if (round.phase !== 'running') return false;
    for (let i = 0; i < writesPerPiece; i++) {
      const viewer = this.#viewers[round.next++];
      if (viewer === undefined) {
        this.#rest(round);
        return false;
      }
      if (viewer.phase !== 'live') continue;
      if (!this.#serve(viewer)) continue;
      // With one frame a flush, a viewer that is a flush behind would stay behind for ever.
      if (viewer.nextOffset < this.#flushEnd) this.#catchUp(viewer);
      else round.again = true;
    }
    return true;
  };

  /**
   * After a round: rests until it is woken, or, when there is more to send already, waits for the next
   * round.
   */
  #rest(round: Extract<Round, { phase: 'running' }>): void {
    const { clock, flushMs } = this.#options;
    const tookMs = performance.now() - round.startedAtMs;
    this.#pace.note(tookMs);
    this.#view.leadMs = this.#pace.leadMs;
    if (!round.again && tookMs <= flushMs) {
      this.#round = { phase: 'rest' };
      return;
    }
    this.#round = { phase: 'waiting' };
    clock.after(this.#pace.pauseMs(tookMs), () => {
      this.#round = { phase: 'rest' };
      if (this.#viewers.length > 0) this.#flush();
    });
  }

  /** Sends the next frame; returns whether there is more that could be sent. */
  #serve(viewer: Viewer): boolean {
    try {
      return this.#sendNext(viewer);
    } catch (error) {
      this.#options.onFailure(viewer, error);
      return false;
    }
  }

  #sendNext(viewer: Viewer): boolean {
    if (viewer.phase === 'closed' || viewer.phase === 'stalled') return false;
    if (viewer.notices) this.#sendNotices(viewer);
    const share = this.#viewers.length > 1;
    // A viewer that is behind may be about to stall, and would then hold this frame.
    const maxBytes = this.#options.frameBytes / (viewer.phase === 'catching' ? 2 : 1);
    const { nextOffset, timestamps } = viewer;
    const frame = this.#frames.at(nextOffset, this.#flushEnd, timestamps, share, maxBytes);
    if (frame === undefined) {
      viewer.phase = 'live';
      const hasAll = nextOffset >= this.channel.nextOffset || this.channel.life === 'dropped';
      if (this.#view.ended && hasAll) this.#options.onComplete(viewer);
      return false;
    }
    viewer.nextOffset = frame.nextOffset;
    if (viewer.notices && frame.gap > 0) {
      viewer.sink.write(noticeFrame({ kind: 'gap', lines: frame.gap }));
    }
    if (!viewer.sink.write(frame.bytes)) {
      this.#stall(viewer);
      return false;
    }
    if (viewer.nextOffset < this.#flushEnd || this.#view.ended) return true;
    viewer.phase = 'live';
    return viewer.notices && viewer.noticeNumber !== this.channel.noticeNumber;
  }

  #sendNotices(viewer: Viewer): void {
    for (const { number, before, notice } of this.channel.noticesAfter(viewer.noticeNumber)) {
      if (before > viewer.nextOffset) return;
      viewer.noticeNumber = number;
      viewer.sink.write(noticeFrame(notice));
    }
  }
}

export function noticeFrame(notice: StreamNotice): Buffer {
  return Buffer.from(sseEvent('notice', notice));
}
