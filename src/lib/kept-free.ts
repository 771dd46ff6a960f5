/** Owns how much of a disk stays free, whatever backups, restores and uploads need. */
import { statfsSync } from 'node:fs';
import { ServiceError } from './errors.ts';

const freeShare = 0.05;
const freeMax = 2 ** 30;
/** The room is looked at again after so many bytes. */
const lookEveryBytes = 2 ** 20;

/** Bytes, of a disk of so many: a share of it, and no more than 1 GiB. */
export function keptFree(totalBytes: number): number {
  return Math.min(freeMax, totalBytes * freeShare);
}

/** Bytes that may be written to the disk of a folder; negative where too few are free already. */
export function roomAt(folder: string): number {
  const { blocks, bavail, bsize } = statfsSync(folder);
  return Math.floor(bavail * bsize - keptFree(blocks * bsize));
}

/** Throws STORAGE_FULL where the disk of a folder has no room for so many bytes. */
export function mustHaveRoom(folder: string, bytes: number): void {
  if (bytes <= roomAt(folder)) return;
  throw new ServiceError(
    'STORAGE_FULL',
    'The disk has no room for it, of which a part stays free.',
  );
}

/** To be told of each piece that is written there: throws STORAGE_FULL once there is no room for more. */
export function roomWatch(folder: string): (bytes: number) => void {
  let untilLook = lookEveryBytes;
  return (bytes) => {
    untilLook -= bytes;
    if (untilLook > 0) return;
    untilLook = lookEveryBytes;
    mustHaveRoom(folder, 0);
  };
}
