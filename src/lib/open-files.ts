/** Owns how many files and sockets this process may have open. */
import { readFileSync } from 'node:fs';

/** Infinity where the system does not say it. Node has raised the limit as far as it may by then. */
export function openFilesMax(limits = readLimits()): number {
  const files = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return files === undefined ? Infinity : Number(files);
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // Not on Linux.
    return '';
  }
}
