/** Owns the certificates on disk, sealed with the runner's key, from where the next runner takes them. */
import fs from 'node:fs';
import path from 'node:path';

import type { EdgeCertificate } from '../../../protocol/workload.ts';
import { writeFileWhole } from '../../../lib/whole-file.ts';
import type { EnvSeal } from '../sealed-env.ts';

const fileName = 'certificates';
/** No workload has such an id. */
const context = 'certificates of the edge';

export class StoredCertificates {
  readonly #file: string;
  readonly #seal: EnvSeal;
  #all: readonly EdgeCertificate[];

  /** Reads what an earlier runner kept in `dir`. A file that is damaged, or sealed with another key, counts as none. */
  constructor(dir: string, seal: EnvSeal) {
    this.#file = path.join(dir, fileName);
    this.#seal = seal;
    this.#all = read(this.#file, seal);
  }

  get all(): readonly EdgeCertificate[] {
    return this.#all;
  }

  replace(certificates: readonly EdgeCertificate[]): void {
    const sealed = this.#seal.seal({ certificates: JSON.stringify(certificates) }, context);
    writeFileWhole(this.#file, sealed, true);
    this.#all = certificates;
  }
}

function read(file: string, seal: EnvSeal): readonly EdgeCertificate[] {
  try {
    const { certificates = '' } = seal.open(fs.readFileSync(file, 'utf8'), context);
    return JSON.parse(certificates) as EdgeCertificate[];
  } catch {
    return []; // None yet, or not to be read: Gangway sets them when it connects.
  }
}
