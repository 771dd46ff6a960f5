/**
 * Owns the reads of one generation of a log. As soon as the files hold another generation, it reads
 * nothing and says once that its own is over.
 */
import type { LogLine, LogName, LogRange, LogReader, LogSlice } from '../files/log.ts';

export class GenerationReader implements LogReader {
  readonly #reader: LogReader;
  readonly #onOver: () => void;
  /** Null until the log holds lines: its first generation is this one. */
  #generation: string | null = null;
  #over = false;

  constructor(reader: LogReader, onOver: () => void) {
    this.#reader = reader;
    this.#onOver = onOver;
  }

  get generation(): string | null {
    return this.#generation;
  }

  /** Whether `generation` is the one that is read here. */
  isOf(generation: string | undefined): boolean {
    this.#generation ??= generation ?? null;
    return generation === undefined || this.#generation === generation;
  }

  range(log: LogName): LogRange | undefined {
    const range = this.#over ? undefined : this.#reader.range(log);
    return this.#holds(range) ? range : undefined;
  }

  read(log: LogName, from: number, limit: number, maxBytes?: number): LogSlice {
    const slice = this.#over ? undefined : this.#reader.read(log, from, limit, maxBytes);
    // The range is checked after the read: if it is still of this generation, so was the read.
    if (slice === undefined || this.range(log) === undefined) {
      return { lines: [], gap: 0, nextOffset: from };
    }
    return slice;
  }

  offsetAt(log: LogName, atMs: number): number {
    return this.#reader.offsetAt(log, atMs);
  }

  lastOf(log: LogName, sourceId: string, beforeMs: number, count: number): LogLine[] {
    return this.#over ? [] : this.#reader.lastOf(log, sourceId, beforeMs, count);
  }

  #holds(range: LogRange | undefined): boolean {
    if (this.#over) return false;
    if (range === undefined && this.#generation === null) return false;
    if (range !== undefined && this.isOf(range.generation)) return true;
    this.#over = true;
    this.#onOver();
    return false;
  }
}
