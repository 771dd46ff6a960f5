/**
 * Owns how the entries of a workload's logs became one numbered sequence: durably, a small file a
 * workload, so that any later reading gives every entry the number it had before.
 *
 * 1. What was merged is appended before it is delivered: after a kill the next reading repeats it.
 * 2. From any number on that is not acknowledged the sequence can be told again. What is acknowledged
 *    is folded into one line.
 * 3. Another process may write the same file: who comes second finds out, and reads it again.
 */
import fs from 'node:fs';
import path from 'node:path';

import { writeFileWhole } from '../../../lib/whole-file.ts';
import type { Position } from './log-cursor.ts';

/** So many entries of this log come next. */
export type Run = readonly [log: string, count: number];

export interface Merged {
  runs: readonly Run[];
  /** Where the last entry of a run stands in its log, where that is known. */
  positions: Readonly<Record<string, Position>>;
}

/** Where every log stands when `seq` entries were merged. */
interface Stand {
  seq: number;
  counts: Readonly<Record<string, number>>;
  positions: Readonly<Record<string, Position>>;
}

export interface Plan extends Stand {
  /** How it went on, as far as it is known. */
  runs: readonly Run[];
  /** How many entries of each log were merged so far. */
  told: Readonly<Record<string, number>>;
}

interface Loaded {
  base: Stand;
  records: Merged[];
  /** Of the last entry that was merged. */
  seq: number;
  /** Of the file these were read from, or written to. */
  file: { inode: number; bytes: number } | null;
}

/** The log of a container whose workload has no other. */
export const onlyLog = 'container';
const compactBytes = 256 * 1024;
const nothing: Stand = { seq: 0, counts: {}, positions: {} };

export class MergeJournal {
  readonly #file: string;
  #loaded: Loaded | undefined;
  /** Logs there still are; null: not asked yet. */
  #logs: ReadonlySet<string> | null = null;

  constructor(file: string) {
    this.#file = file;
  }

  /** The newest stand at or before `seq`, and what followed it. */
  after(seq: number): Plan {
    const { base, records } = this.#current();
    const { stand, count } = standAt(base, records, seq);
    const runs = records.slice(count).flatMap((record) => record.runs);
    const told = standAt(base, records, Infinity).stand.counts;
    return { ...stand, runs, told };
  }

  /** Whether it is written: not when somebody else merged meanwhile, behind `afterSeq`. */
  append(afterSeq: number, ...merged: readonly Merged[]): boolean {
    const loaded = this.#current();
    if (loaded.seq !== afterSeq) return false;
    const fd = fs.openSync(this.#file, 'a', 0o600);
    try {
      fs.writeSync(fd, linesOf(merged));
      const { ino: inode, size: bytes } = fs.fstatSync(fd);
      loaded.file = { inode, bytes };
    } finally {
      fs.closeSync(fd);
    }
    loaded.records.push(...merged);
    loaded.seq = merged.reduce((seq, record) => seq + lengthOf(record), loaded.seq);
    return true;
  }

  /** The logs there still are: all others are left out of the next folding. */
  keep(logs: ReadonlySet<string>): void {
    this.#logs = logs;
  }

  /** Nobody asks for entries up to `seq` any more. */
  acknowledge(seq: number): void {
    const loaded = this.#current();
    const { stand, count } = standAt(loaded.base, loaded.records, seq);
    if (count === 0) return;
    loaded.records.splice(0, count);
    loaded.base = stand;
    if ((loaded.file?.bytes ?? 0) > compactBytes) this.#compact(loaded);
  }

  forget(): void {
    this.#loaded = undefined;
    for (const file of [this.#file, earlierFile(this.#file)]) fs.rmSync(file, { force: true });
  }

  #compact(loaded: Loaded): void {
    const { base, records } = loaded;
    const needed = new Set(records.flatMap(({ runs }) => runs.map(([log]) => log)));
    const logs = this.#logs;
    const isKept = (log: string): boolean => logs === null || logs.has(log) || needed.has(log);
    loaded.base = {
      seq: base.seq,
      counts: pick(base.counts, isKept),
      positions: pick(base.positions, isKept),
    };
    writeFileWhole(this.#file, linesOf([{ base: loaded.base }, ...records]), false);
    loaded.file = fileAt(this.#file);
  }

  #current(): Loaded {
    const file = fileAt(this.#file);
    const known = this.#loaded;
    if (known && known.file?.inode === file?.inode && known.file?.bytes === file?.bytes) {
      return known;
    }
    this.#loaded = load(this.#file, file);
    return this.#loaded;
  }
}

/** One for each workload, in a folder. */
export class MergeJournals {
  readonly #dir: string;
  readonly #journals = new Map<string, MergeJournal>();

  constructor(dir: string) {
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  of(id: string): MergeJournal {
    const known = this.#journals.get(id);
    if (known) return known;
    const made = new MergeJournal(path.join(this.#dir, `${id}.jsonl`));
    this.#journals.set(id, made);
    return made;
  }

  forget(id: string): void {
    this.of(id).forget();
    this.#journals.delete(id);
  }
}

function linesOf(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function lengthOf({ runs }: Merged): number {
  return runs.reduce((sum, [, count]) => sum + count, 0);
}

/** The newest stand at or before `seq`, and how many of the records lead to it. */
function standAt(
  base: Stand,
  records: readonly Merged[],
  seq: number,
): { stand: Stand; count: number } {
  let stand = base;
  for (const [count, record] of records.entries()) {
    const next = advance(stand, record);
    if (next.seq > seq) return { stand, count };
    stand = next;
  }
  return { stand, count: records.length };
}

function advance(stand: Stand, merged: Merged): Stand {
  const counts = { ...stand.counts };
  for (const [log, count] of merged.runs) counts[log] = (counts[log] ?? 0) + count;
  return {
    seq: stand.seq + lengthOf(merged),
    counts,
    positions: { ...stand.positions, ...merged.positions },
  };
}

function pick<T>(
  all: Readonly<Record<string, T>>,
  isKept: (key: string) => boolean,
): Record<string, T> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => isKept(key)));
}

function fileAt(file: string): Loaded['file'] {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat ? { inode: stat.ino, bytes: stat.size } : null;
}

/** A line cut short by a crash was delivered to nobody, and goes. */
function load(file: string, found: Loaded['file']): Loaded {
  const loaded: Loaded = { base: earlierStand(file), records: [], seq: 0, file: found };
  const text = found === null ? '' : fs.readFileSync(file, 'utf8');
  let whole = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', whole)) {
    try {
      const line = JSON.parse(text.slice(whole, end)) as Merged | { base: Stand };
      if ('base' in line) loaded.base = line.base;
      else loaded.records.push(line);
    } catch {
      break; // Damaged: nothing behind it can be counted on.
    }
    whole = end + 1;
  }
  if (whole < text.length) {
    fs.truncateSync(file, Buffer.byteLength(text.slice(0, whole)));
    loaded.file = fileAt(file);
  }
  loaded.seq = loaded.records.reduce((seq, one) => seq + lengthOf(one), loaded.base.seq);
  return loaded;
}

/** What a version before this one kept of a container's log, which is the only one of its workload. */
function earlierStand(file: string): Stand {
  try {
    const kept = JSON.parse(fs.readFileSync(earlierFile(file), 'utf8')) as { points: Position[] };
    const last = kept.points.at(-1);
    if (!last) return nothing;
    return { seq: last.seq, counts: { [onlyLog]: last.seq }, positions: { [onlyLog]: last } };
  } catch {
    return nothing; // There is no such file.
  }
}

function earlierFile(file: string): string {
  return file.replace(/\.jsonl$/, '.json');
}
