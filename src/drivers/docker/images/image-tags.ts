/**
 * Owns what images of ours are called on a daemon.
 *
 * 1. Everybody may know an image's name, `gangway-<instance>:<owner>.<name>`: it stands in records and logs.
 *    On the daemon it has a tag that ends with a code made of that name and a key. Nobody outside can guess
 *    it, so no Dockerfile can start from another team's image.
 */
import { createHmac, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import type { Names } from '../engine/names.ts';

const keyBytes = 32;
const codeChars = 22;

export class ImageTags {
  readonly #file: string;
  readonly #names: Names;
  #key: Buffer | undefined;

  /** `dir` keeps the key; made on first use. */
  constructor(dir: string, names: Names) {
    this.#file = path.join(dir, 'image-key');
    this.#names = names;
  }

  /** The tag of an image of ours by its name; any other reference as it is. */
  tagOf(image: string): string {
    if (!this.isName(image)) return image;
    const code = createHmac('sha256', this.#readKey()).update(image).digest('base64url');
    return `${image}.${code.slice(0, codeChars)}`;
  }

  /** Whether it is a name of ours. Versions before this one gave it to the daemon as the tag. */
  isName(reference: string): boolean {
    const { repository } = this.#names;
    return reference.startsWith(`${repository}:`) && reference.split('.').length === 2;
  }

  #readKey(): Buffer {
    if (this.#key) return this.#key;
    const kept = fs.existsSync(this.#file) ? fs.readFileSync(this.#file) : null;
    this.#key = kept?.length === keyBytes ? kept : this.#made();
    return this.#key;
  }

  #made(): Buffer {
    const key = randomBytes(keyBytes);
    fs.mkdirSync(path.dirname(this.#file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(this.#file, key, { mode: 0o600 });
    return key;
  }
}
