/** Owns how much of a disk stays free, whatever backups and restores need. */
import { statfsSync } from 'node:fs';

const freeShare = 0.05;
const freeMax = 2 ** 30;

/** Bytes, of a disk of so many: a share of it, and no more than 1 GiB. */
export function keptFree(totalBytes: number): number {
  return Math.min(freeMax, totalBytes * freeShare);
}

/** Bytes that may be written to the disk of a folder; negative where too few are free already. */
export function roomAt(folder: string): number {
  const { blocks, bavail, bsize } = statfsSync(folder);
  return Math.floor(bavail * bsize - keptFree(blocks * bsize));
}
