/** Owns how small files are made and replaced: after a crash there is the old one or the new one. */
import fs from 'node:fs';

/** For the owner alone. `durable`: also when the machine loses power right after. */
export function writeFileWhole(file: string, text: string, durable: boolean): void {
  const fresh = `${file}.new`;
  const fd = fs.openSync(fresh, 'w', 0o600);
  try {
    // Also where a write that was cut off left one.
    fs.fchmodSync(fd, 0o600);
    fs.writeSync(fd, text);
    if (durable) fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  fs.renameSync(fresh, file);
}

/** The same for a file that is made once; false when there is one. Of several at once one makes it. */
export function createFileWhole(file: string, text: string): boolean {
  const fresh = `${file}.${String(process.pid)}`;
  fs.writeFileSync(fresh, text, { mode: 0o600 });
  try {
    fs.linkSync(fresh, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    fs.rmSync(fresh);
  }
}
