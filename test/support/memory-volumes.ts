/** Volumes in memory, and a target that uses them, for tests of what a restore does with volumes. */
import type { OwnVolumes, ServerControl } from '../../src/backups/targets.ts';
import type { VolumeFolders } from '../../src/drivers/driver.ts';
import { collected } from './database-server.ts';

export class MemoryVolumes {
  /** What was written into each, as it came. */
  readonly held = new Map<string, Buffer>();
  /** What the target has; `use` changes it. */
  live: VolumeFolders;
  before: VolumeFolders | null = null;
  readonly steps: string[] = [];
  /** Called with each step; throws to fail there. */
  onStep: (step: string) => void = () => undefined;
  readonly #owner: string;

  constructor(owner: string, names: readonly string[]) {
    this.#owner = owner;
    this.live = Object.fromEntries(names.map((name) => [name, `${owner}-${name}`]));
    for (const volume of Object.values(this.live)) this.held.set(volume, Buffer.from('live'));
  }

  get names(): string[] {
    return [...this.held.keys()].sort();
  }

  /** As a restore is given them. */
  get own(): OwnVolumes {
    return {
      owner: this.#owner,
      live: this.live,
      files: {
        of: () => Promise.resolve(this.names),
        read: () => {
          throw new Error('not here');
        },
        write: async (_owner, folders, tar) => {
          this.#step('write');
          for (const volume of Object.values(folders)) this.held.set(volume, Buffer.alloc(0));
          const bytes = await collected(tar);
          for (const volume of Object.values(folders)) this.held.set(volume, bytes);
        },
      },
      before: this.before,
      fresh: (name) => `${this.#owner}-restored-rst_1-${name}`,
      use: (volumes, before) => {
        this.#step(before === null ? 'use' : 'try');
        [this.live, this.before] = [volumes, before];
        return Promise.resolve();
      },
      remove: (volume) => {
        this.#step(`remove ${volume}`);
        this.held.delete(volume);
        return Promise.resolve();
      },
    };
  }

  get control(): ServerControl {
    return {
      stop: () => Promise.resolve(this.#step('stop')),
      start: async () => {
        await Promise.resolve();
        this.#step('start');
      },
      replaced: () => Promise.resolve(this.#step('replaced')),
    };
  }

  #step(step: string): void {
    this.steps.push(step);
    this.onStep(step);
  }
}
