/**
 * Owns what is known of a workload and the daemon does not keep: who asked for its end, and why it
 * never started. One small file a workload in the data directory.
 */
import fs from 'node:fs';
import path from 'node:path';

import { writeFileWhole } from '../../../lib/whole-file.ts';
import type { Exit, Workload } from '../../../protocol/workload.ts';

export interface Note {
  spec: Workload['spec'];
  /** Who ended it: told to the daemon right after it was written here. */
  ending?: 'stopped' | 'deadline';
  /** It never ran. */
  failed?: Exit;
  atMs: number;
}

export class Notes {
  readonly #dir: string;
  readonly #notes = new Map<string, Note>();

  constructor(dir: string) {
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const name of fs.readdirSync(dir)) {
      if (!name.endsWith('.json')) continue;
      try {
        const note = JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8')) as Note;
        this.#notes.set(note.spec.id, note);
      } catch {
        // Cut short by a crash: what it said is no longer known, the container itself is.
        fs.rmSync(path.join(dir, name), { force: true });
      }
    }
  }

  get(id: string): Note | undefined {
    return this.#notes.get(id);
  }

  /** What failed before there was anything of it at the daemon. */
  failed(id: string): Workload | undefined {
    const note = this.#notes.get(id);
    return note?.failed && { spec: note.spec, state: { phase: 'ended', exit: note.failed } };
  }

  all(): Note[] {
    return [...this.#notes.values()];
  }

  set(note: Note): void {
    this.#notes.set(note.spec.id, note);
    writeFileWhole(this.#file(note.spec.id), JSON.stringify(note), true);
  }

  delete(id: string): void {
    if (this.#notes.delete(id)) fs.rmSync(this.#file(id), { force: true });
  }

  #file(id: string): string {
    return path.join(this.#dir, `${id}.json`);
  }
}
