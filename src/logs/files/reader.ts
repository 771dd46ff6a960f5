/**
 * Owns reading logs on a thread that does not write them.
 *
 * 1. Nothing of the writer's memory is needed: the folder of a log names its segments, and the files say
 *    what is in them.
 * 2. It never writes. What it remembers of files is bounded.
 */
import { join } from 'node:path';
import { RecentMap } from '../../lib/recent-map.ts';
import type { Block } from './block.ts';
import type { LogName } from './log.ts';
import { listSegments, logFolder, type SegmentFile } from './segment-file.ts';
import { isKnown, SegmentReader } from './segments.ts';

/** Reads logs on any thread, also while they grow. */
export class LogFiles extends SegmentReader {
  readonly #dir: string;
  readonly #known: RecentMap<SegmentFile>;

  /** `dir`: the logs' folder in the data directory. `segmentsMax`: how many of them are remembered. */
  constructor(dir: string, segmentsMax = 128) {
    super();
    this.#dir = dir;
    this.#known = new RecentMap(segmentsMax);
  }

  /**
   * Hands blocks that hold the newest lines before offset `before` to `visit`, in their order: about
   * `aboutBytes` of them, within a segment. Returns the offset of their first line, undefined where there are
   * no lines before.
   */
  visitBlocksBefore(
    log: LogName,
    before: number,
    aboutBytes: number,
    visit: (bytes: Buffer, at: number, block: Block) => void,
  ): number | undefined {
    const segments = this.segmentsOf(log);
    for (let i = segments.length - 1; i >= 0; i--) {
      const segment = segments[i];
      if (segment === undefined || segment.firstOffset >= before) continue;
      if (!isKnown(segment, segments[i + 1])) continue;
      const from = segment.visitBlocksBefore(before, aboutBytes, visit);
      if (from !== undefined) return from;
    }
    return undefined;
  }

  protected segmentsOf(log: LogName): SegmentFile[] {
    const folder = join(this.#dir, logFolder(log));
    for (;;) {
      const segments = listSegments(folder).newest.map((found) => {
        const known = this.#known.get(found.path);
        if (known === undefined) this.#known.set(found.path, found);
        return known ?? found;
      });
      // The newest file is removed only with the whole log, which then has to be looked at anew.
      if (segments.at(-1)?.scan() !== false) return segments;
    }
  }
}
