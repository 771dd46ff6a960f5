/**
 * Owns the memory of what is open in containers: an empty file for each, named `<container>.<mark>`, so
 * that what a killed process left running there is found by the next one.
 */
import fs from 'node:fs';
import path from 'node:path';

export interface Session {
  container: string;
  mark: string;
}

export class Sessions {
  readonly #dir: string;
  readonly #files = new Map<string, string>();
  readonly #left: Session[];

  constructor(dir: string) {
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#left = fs.readdirSync(dir).flatMap((name) => {
      const [container = '', mark = ''] = name.split('.');
      this.#files.set(mark, path.join(dir, name));
      return [{ container, mark }];
    });
  }

  /** Of an earlier process. */
  left(): readonly Session[] {
    return this.#left;
  }

  add({ container, mark }: Session): void {
    const file = path.join(this.#dir, `${container}.${mark}`);
    fs.closeSync(fs.openSync(file, 'w', 0o600));
    this.#files.set(mark, file);
  }

  forget(mark: string): void {
    const file = this.#files.get(mark);
    if (file !== undefined) fs.rmSync(file, { force: true });
    this.#files.delete(mark);
  }
}
