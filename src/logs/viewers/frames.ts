/**
 * Owns the frames of one live log: lines made into Server-Sent Events, once for each variant, and
 * handed to every viewer that stands at the same place.
 *
 * 1. A frame is a function of the stored lines, its first offset and its variant, of no viewer.
 * 2. It is at most `maxBytes` long unless a single line is longer, and ends between lines.
 * 3. What is kept for sharing is bounded.
 */
import { LogText, lookBackLines } from '../../protocol/log-text.ts';
import { formatCursor, sseComment, sseEvent } from '../../protocol/sse.ts';
import type { LogLine } from '../files/log-name.ts';
import type { LogChannel } from '../live/channel.ts';

/** Room in a frame for its id, names and escapes. */
const overheadBytes = 2 * 1024;

export interface Frame {
  bytes: Buffer;
  /** Offset behind its last line. */
  nextOffset: number;
  /** Lines that retention took in front of its first one. */
  gap: number;
}

export interface FramesOptions {
  channel: LogChannel;
  /** Bytes of frames kept for each variant. */
  keepBytes: number;
}

export class Frames {
  readonly #options: FramesOptions;
  readonly #plain = new Map<number, Frame>();
  readonly #stamped = new Map<number, Frame>();
  readonly #keptBytes = { plain: 0, stamped: 0 };
  #generation = '';

  constructor(options: FramesOptions) {
    this.#options = options;
  }

  /**
   * The frame that starts at an offset and ends at another one at the latest; undefined when there is
   * nothing between. `maxBytes` bounds one that is made now; `share` keeps it for others that will
   * stand at this place.
   */
  at(
    from: number,
    until: number,
    timestamps: boolean,
    share: boolean,
    maxBytes: number,
  ): Frame | undefined {
    if (from >= until) return undefined;
    const kept = timestamps ? this.#stamped : this.#plain;
    const held = kept.get(from);
    if (held !== undefined) return held;
    const frame = this.#encode(from, until, timestamps, maxBytes);
    if (frame !== undefined && share) this.#keep(from, timestamps, frame);
    return frame;
  }

  #keep(from: number, timestamps: boolean, frame: Frame): void {
    const variant = timestamps ? 'stamped' : 'plain';
    const kept = timestamps ? this.#stamped : this.#plain;
    kept.set(from, frame);
    this.#keptBytes[variant] += frame.bytes.length;
    for (const [offset, oldest] of kept) {
      if (this.#keptBytes[variant] <= this.#options.keepBytes) break;
      kept.delete(offset);
      this.#keptBytes[variant] -= oldest.bytes.length;
    }
  }

  #encode(from: number, until: number, timestamps: boolean, frameBytes: number): Frame | undefined {
    const { channel } = this.#options;
    const around = this.#linesAt(from, frameBytes - overheadBytes);
    const first = around.lines[0];
    if (first === undefined) {
      if (around.gap === 0) return undefined;
      const bytes = Buffer.from(gapComment(around.gap));
      return { bytes, nextOffset: around.nextOffset, gap: around.gap };
    }
    const limit = Math.min(until, channel.frameLimit(first.offset));
    let count = around.lines.length;
    while (count > 1 && (around.lines[count - 1]?.offset ?? 0) >= limit) count--;
    for (;;) {
      const last = around.lines[count - 1] ?? first;
      const text = new LogText(timestamps);
      for (const line of around.before) text.prime(line);
      for (let i = 0; i < count; i++) text.add(around.lines[i] ?? first);
      const id = formatCursor({ generation: this.#generationName(), offset: last.offset });
      const event = sseEvent('data', text.take(), id);
      const bytes = Buffer.from(around.gap === 0 ? event : gapComment(around.gap) + event);
      if (bytes.length <= frameBytes || count === 1) {
        return { bytes, nextOffset: last.offset + 1, gap: around.gap };
      }
      // Escapes made it too long: fewer lines.
      count = Math.max(1, Math.floor((count * frameBytes) / bytes.length) - 1);
    }
  }

  /** Lines from an offset on, and those in front that they may continue. */
  #linesAt(
    from: number,
    maxBytes: number,
  ): { before: LogLine[]; lines: LogLine[]; gap: number; nextOffset: number } {
    const { channel } = this.#options;
    const around = channel.take(Math.max(1, from - lookBackLines), maxBytes);
    const start = around.lines.findIndex((line) => line.offset >= from);
    if (start !== -1) {
      const before = around.lines.slice(0, start);
      const lines = around.lines.slice(start);
      const gap = (lines[0]?.offset ?? from) - from;
      return { before, lines, gap, nextOffset: around.nextOffset };
    }
    // The lines in front are long, or gone: the nearest one has to do.
    const before = channel.take(from - 1, 1).lines.filter((line) => line.offset < from);
    return { before, ...channel.take(from, maxBytes) };
  }

  #generationName(): string {
    // It never changes while the log is watched: a dropped log's channel is not used again.
    if (this.#generation === '') {
      this.#generation = this.#options.channel.range()?.generation ?? '';
    }
    return this.#generation;
  }
}

export function gapComment(lines: number): string {
  return sseComment(`gap ${String(lines)} lines`);
}
