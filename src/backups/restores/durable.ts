/** Owns that what a restore has put in place is still there when the power fails. */
import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { asOthers } from '../../lib/processes/go-first.ts';

const run = promisify(execFile);

/**
 * Resolves when all that was written to the file systems of these folders is on stable storage. One call for all
 * files: one for each would take minutes for many small ones.
 */
export async function writeOut(folders: readonly string[]): Promise<void> {
  // Elsewhere `sync` knows all file systems alone.
  const args = process.platform === 'linux' ? ['-f', ...folders] : [];
  await asOthers(() => run('sync', args));
}

/** Resolves when the names in this folder are on stable storage. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
