/** Owns how small files are replaced: after a crash there is the old one or the new one. */
import fs from 'node:fs';

/** For the owner alone. `durable`: also when the machine loses power right after. */
export function writeFileWhole(file: string, text: string, durable: boolean): void {
  const fresh = `${file}.new`;
  const fd = fs.openSync(fresh, 'w', 0o600);
  try {
    fs.writeSync(fd, text);
    if (durable) fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  fs.renameSync(fresh, file);
}
