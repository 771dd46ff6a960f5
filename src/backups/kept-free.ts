/** Owns how much of a disk stays free, whatever backups need. */

const freeShare = 0.05;
const freeMax = 2 ** 30;

/** Bytes, of a disk of so many: a share of it, and no more than 1 GiB. */
export function keptFree(totalBytes: number): number {
  return Math.min(freeMax, totalBytes * freeShare);
}
