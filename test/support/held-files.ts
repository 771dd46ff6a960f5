/** What a process holds of bodies that nobody takes yet. */
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The lengths of its nameless files of this folder, in bytes. */
export function heldFiles(pid: number, dir: string): number[] {
  const descriptors = `/proc/${pid}/fd`;
  return readdirSync(descriptors)
    .map((fd) => join(descriptors, fd))
    .filter((path) => {
      const name = linkAt(path);
      return name.startsWith(join(dir, 'held-')) && name.endsWith(' (deleted)');
    })
    .map((path) => statSync(path).size);
}

/** Empty for a descriptor that was closed meanwhile. */
function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
