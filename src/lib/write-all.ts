/** Owns that all is written: the system may take a part of what it is given. */
import { writeSync } from 'node:fs';

/** At this place of the file, in bytes; null: where it stands. Throws what the file system throws. */
export function writeAllSync(fd: number, bytes: Uint8Array, at: number | null): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done, at === null ? null : at + done);
  }
}
