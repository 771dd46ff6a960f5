/**
 * Owns what the daemon does not keep of a workload: who asked for its end, and why it never started.
 * There is one small file for each workload in the data directory.
 */
import fs from 'node:fs';
import path from 'node:path';

import { writeFileWhole } from '../../../lib/whole-file.ts';
import type { Exit, Workload } from '../../../protocol/workload.ts';

export interface EndNote {
  spec: Workload['spec'];
  /** Why it was ended. It is written here just before the daemon is asked. */
  ending?: 'stopped' | 'deadline';
  /** Set when it never ran. */
  failed?: Exit;
  atMs: number;
}

export class EndNotes {
  readonly #dir: string;
  readonly #notes = new Map<string, EndNote>();

  constructor(dir: string) {
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const name of fs.readdirSync(dir)) {
      if (!name.endsWith('.json')) continue;
      try {
        const note = JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8')) as EndNote;
        this.#notes.set(note.spec.id, note);
      } catch {
        // A crash cut the file short. What it said is lost; the container itself is still known.
        fs.rmSync(path.join(dir, name), { force: true });
      }
    }
  }

  get(id: string): EndNote | undefined {
    return this.#notes.get(id);
  }

  /** A workload that failed before the daemon had anything of it. */
  failed(id: string): Workload | undefined {
    const note = this.#notes.get(id);
    return note?.failed && { spec: note.spec, state: { phase: 'ended', exit: note.failed } };
  }

  all(): EndNote[] {
    return [...this.#notes.values()];
  }

  set(note: EndNote): void {
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
