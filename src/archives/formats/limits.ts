/** Owns the limits of an archive, and the meter that counts while it is read. */
import { bomb } from './refusals.ts';

export interface ArchiveLimits {
  /** Entries, with the folders their paths imply. */
  entriesMax: number;
  /** Bytes after decompression. */
  expandedBytesMax: number;
  /** Decompressed bytes for each byte received, checked after the first `ratioFreeBytes`. */
  ratioMax: number;
  ratioFreeBytes: number;
  /** Bytes of all names and link targets together: they are held in memory while reading. */
  namesBytesMax: number;
  /** Parts of targets that are walked to see where links lead: links through links through long paths multiply. */
  linkStepsMax: number;
}

export const archiveLimits: ArchiveLimits = {
  entriesMax: 200_000,
  expandedBytesMax: 8 * 1024 ** 3,
  ratioMax: 200,
  ratioFreeBytes: 64 * 1024 ** 2,
  namesBytesMax: 48 * 1024 ** 2,
  linkStepsMax: 5_000_000,
};

export class Meter {
  readonly #limits: ArchiveLimits;
  readonly #totalBytes: number;
  #entries = 0;
  #expanded = 0;
  #names = 0;
  #linkSteps = 0;

  constructor(limits: ArchiveLimits, totalBytes = 0) {
    this.#limits = limits;
    this.#totalBytes = totalBytes;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Counts one more entry under this name. */
  entry(name: string): void {
    if (++this.#entries > this.#limits.entriesMax) {
      throw bomb(`it has more than ${this.#limits.entriesMax} entries`);
    }
    this.name(name);
  }

  name(name: string): void {
    this.#names += name.length;
    if (this.#names > this.#limits.namesBytesMax) throw bomb('its names are too long altogether');
  }

  /** Counts parts of the target of a link that is walked. */
  linkSteps(parts: number): void {
    this.#linkSteps += parts;
    if (this.#linkSteps > this.#limits.linkStepsMax) {
      throw bomb('its links lead through too many others');
    }
  }

  /** Counts `bytes` more of output; `consumed` bytes of input were used in all. */
  expand(bytes: number, consumed: number): void {
    this.#expanded += bytes;
    const expanded = this.#expanded;
    const { expandedBytesMax, ratioMax, ratioFreeBytes } = this.#limits;
    if (expanded > expandedBytesMax) throw this.#tooLarge();
    if (expanded > ratioFreeBytes && expanded > ratioMax * Math.max(consumed, this.#totalBytes)) {
      throw bomb(`it expands to more than ${ratioMax} times its size`);
    }
  }

  /** Refuses a size in a header before a byte of the data is read. */
  announce(bytes: number): void {
    if (this.#expanded + bytes > this.#limits.expandedBytesMax) throw this.#tooLarge();
  }

  #tooLarge(): Error {
    return bomb(`it expands to more than ${this.#limits.expandedBytesMax} bytes`);
  }
}
