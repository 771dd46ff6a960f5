/**
 * Owns the memory of which images are there for some builds alone: a file for each, so that what a
 * killed process left under its own name is found by the next one.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

export class Loans {
  readonly #dir: string;
  readonly #left: readonly string[];

  constructor(dir: string) {
    this.#dir = dir;
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#left = fs
      .readdirSync(dir)
      .map((name) => fs.readFileSync(path.join(dir, name), 'utf8'))
      // One that was not yet written whole was not yet fetched.
      .filter((reference) => reference !== '');
  }

  /** Of an earlier process. */
  left(): readonly string[] {
    return this.#left;
  }

  add(reference: string): void {
    fs.writeFileSync(this.#file(reference), reference, { mode: 0o600 });
  }

  forget(reference: string): void {
    fs.rmSync(this.#file(reference), { force: true });
  }

  #file(reference: string): string {
    return path.join(this.#dir, createHash('sha256').update(reference).digest('hex'));
  }
}
