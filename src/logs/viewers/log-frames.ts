/**
 * Owns the frames of one live log: lines as Server-Sent Events, made once for each variant and shared
 * by all viewers at the same offset.
 *
 * 1. A frame depends on the stored lines, its first offset and its variant, and on no viewer.
 * 2. It is at most `maxBytes` long, unless a single line is longer, and ends at the end of a line.
 * 3. What is kept for sharing is bounded.
 */
import { LogText, lookBackLines } from '../../protocol/log-text.ts';
import { formatCursor, sseComment, sseEvent } from '../../protocol/sse.ts';
import type { LogLine } from '../files/log.ts';
import type { LogChannel } from '../live/channel.ts';

/** Room in a frame for its id, names and escapes. */
const overheadBytes = 2 * 1024;

export interface LogFrame {
  bytes: Buffer;
  /** Offset behind its last line. */
  nextOffset: number;
  /** How many lines retention removed before its first one. */
  gap: number;
}

interface KeptFrames {
  byOffset: Map<number, LogFrame>;
  bytes: number;
}

export interface LogFramesOptions {
  channel: LogChannel;
  /** Bytes of frames kept for each variant. */
  keepBytes: number;
}

export class LogFrames {
  readonly #options: LogFramesOptions;
  readonly #plain: KeptFrames = { byOffset: new Map(), bytes: 0 };
  readonly #stamped: KeptFrames = { byOffset: new Map(), bytes: 0 };
  #generation = '';

  constructor(options: LogFramesOptions) {
    this.#options = options;
  }

  /**
   * The frame that starts at offset `from` and ends at `until` at the latest; undefined when there is
   * nothing between. `maxBytes` bounds a frame that is made now; `share` keeps it for other viewers.
   */
  at(
    from: number,
    until: number,
    timestamps: boolean,
    share: boolean,
    maxBytes: number,
  ): LogFrame | undefined {
    if (from >= until) return undefined;
    const kept = timestamps ? this.#stamped : this.#plain;
    const held = kept.byOffset.get(from);
    if (held !== undefined) return held;
    const frame = this.#encode(from, until, timestamps, maxBytes);
    if (frame !== undefined && share) this.#keep(kept, from, frame);
    return frame;
  }

  #keep(kept: KeptFrames, from: number, frame: LogFrame): void {
    kept.byOffset.set(from, frame);
    kept.bytes += frame.bytes.length;
    for (const [offset, oldest] of kept.byOffset) {
      if (kept.bytes <= this.#options.keepBytes) break;
      kept.byOffset.delete(offset);
      kept.bytes -= oldest.bytes.length;
    }
  }

  #encode(
    from: number,
    until: number,
    timestamps: boolean,
    frameBytes: number,
  ): LogFrame | undefined {
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
      // Escapes made it too long: try fewer lines.
      count = Math.max(1, Math.floor((count * frameBytes) / bytes.length) - 1);
    }
  }

  /** Lines from an offset on, and those before them that they may continue. */
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
    // The lines before are long, or removed: only the nearest one is looked at.
    const before = channel.take(from - 1, 1).lines.filter((line) => line.offset < from);
    return { before, ...channel.take(from, maxBytes) };
  }

  #generationName(): string {
    // It never changes while the log is watched, because the channel of a dropped log is not used
    // again.
    if (this.#generation === '') {
      this.#generation = this.#options.channel.range()?.generation ?? '';
    }
    return this.#generation;
  }
}

export function gapComment(lines: number): string {
  return sseComment(`gap ${String(lines)} lines`);
}
