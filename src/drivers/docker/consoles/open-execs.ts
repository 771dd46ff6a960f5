/**
 * Owns the record of open execs: an empty file for each, named `<container>.<mark>`. After a kill of this
 * process, the next one finds there what is left running.
 */
import fs from 'node:fs';
import path from 'node:path';

export interface OpenExec {
  container: string;
  mark: string;
}

export class OpenExecs {
  readonly #dir: string;
  readonly #files = new Map<string, string>();
  readonly #left: OpenExec[];

  constructor(dir: string) {
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#left = fs.readdirSync(dir).flatMap((name) => {
      const [container = '', mark = ''] = name.split('.');
      this.#files.set(mark, path.join(dir, name));
      return [{ container, mark }];
    });
  }

  left(): readonly OpenExec[] {
    return this.#left;
  }

  add({ container, mark }: OpenExec): void {
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
