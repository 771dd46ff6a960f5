/**
 * Owns how often the tasks of a workload were restarted, durably: the swarm remembers only the last few
 * tasks of a slot.
 *
 * A restart is not counted when it happened while this process was down and the swarm has forgotten it.
 */
import fs from 'node:fs';
import path from 'node:path';

import { writeFileWhole } from '../../lib/whole-file.ts';
import type { TaskView } from './tasks.ts';

interface Tally {
  /** By slot: the starts so far, and the newest task among them. */
  slots: Record<string, { starts: number; newest: string }>;
}

export class Restarts {
  readonly #dir: string;
  readonly #tallies = new Map<string, Tally>();

  constructor(dir: string) {
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** `begun` are the tasks whose programs were started, the oldest first. */
  count(id: string, begun: readonly TaskView[]): number {
    const tally = this.#tally(id);
    let isNew = false;
    for (const task of begun) {
      const slot = String(task.Slot ?? 0);
      const known = tally.slots[slot] ?? { starts: 0, newest: '' };
      if (task.CreatedAt <= known.newest) continue;
      tally.slots[slot] = { starts: known.starts + 1, newest: task.CreatedAt };
      isNew = true;
    }
    const restarts = Object.values(tally.slots).reduce((sum, { starts }) => sum + starts - 1, 0);
    // A first start is found again in any case, so it is not written.
    if (isNew && restarts > 0) writeFileWhole(this.#file(id), JSON.stringify(tally), false);
    return restarts;
  }

  forget(id: string): void {
    this.#tallies.delete(id);
    fs.rmSync(this.#file(id), { force: true });
  }

  #tally(id: string): Tally {
    const known = this.#tallies.get(id);
    if (known) return known;
    const made = this.#read(id);
    this.#tallies.set(id, made);
    return made;
  }

  #read(id: string): Tally {
    try {
      return JSON.parse(fs.readFileSync(this.#file(id), 'utf8')) as Tally;
    } catch {
      return { slots: {} }; // The file is missing, or cut short by a loss of power.
    }
  }

  #file(id: string): string {
    return path.join(this.#dir, `${id}.json`);
  }
}
