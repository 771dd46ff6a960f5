/**
 * Owns the commands that copy a data directory: `snapshot`, which may run beside the service, and
 * `restore`.
 *
 * 1. Standard output gets one line at the end. Standard error gets the summary and, on a terminal, the
 *    progress before it.
 */
import { stat } from 'node:fs/promises';
import { databaseFiles } from '../places/database-folders.ts';
import { resolveConfig } from '../config.ts';
import type { Missed } from '../lib/untrusted-files/copy.ts';
import { depthMax } from '../lib/untrusted-files/folder.ts';
import {
  type Copied,
  copyDataDirectory,
  type Progress,
  restoreDataDirectory,
} from '../store/files/snapshot.ts';
import { forgetRuns, restoreInstance } from './instance-restore.ts';

const tellEveryMs = 200;

/** Runs the command; false when its arguments are wrong. Throws a StoreRefusal. */
export async function copyCommand(
  command: 'snapshot' | 'restore',
  args: readonly string[],
): Promise<boolean> {
  return command === 'snapshot' ? await snapshot(args) : await restore(args);
}

async function snapshot(args: readonly string[]): Promise<boolean> {
  const withKey = args.includes('--with-key');
  const [dir, ...more] = args.filter((arg) => arg !== '--with-key');
  if (dir === undefined || dir.startsWith('-') || more.length > 0) return false;
  const { dataDir } = resolveConfig().config;
  const options = { databases: databaseFiles, ...progressOn(process.stderr), withKey };
  told(await copyDataDirectory(dataDir, dir, options), `Copied to ${dir}`);
  return true;
}

/** From a folder, or from the artifact of a backup: a file, or `-`. */
async function restore(args: readonly string[]): Promise<boolean> {
  const at = args.indexOf('--identity');
  const identity = at === -1 ? null : (args[at + 1] ?? '');
  const [from, ...more] = at === -1 ? args : args.toSpliced(at, 2);
  const isName = from !== undefined && (from === '-' || !from.startsWith('-'));
  if (!isName || more.length > 0 || identity === '') return false;
  const { config } = resolveConfig();
  const { dataDir } = config;
  if (identity !== null || from === '-' || (await isFile(from))) {
    const unpacked = await restoreInstance({ config, artifact: from, identity });
    told({ ...unpacked, unsettled: [], missed: new Map() }, `Restored to ${dataDir}`);
    return true;
  }
  const options = { databases: databaseFiles, finish: forgetRuns, ...progressOn(process.stderr) };
  told(await restoreDataDirectory(from, dataDir, options), `Restored to ${dataDir}`);
  return true;
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => !found.isDirectory(),
    () => false,
  );
}

function told(copied: Copied, line: string): void {
  // Ends the line of the progress.
  if (process.stderr.isTTY) process.stderr.write('\n');
  process.stderr.write(summaryOf(copied));
  process.stdout.write(`${line}\n`);
}

interface Terminal {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** One line of progress that is written over itself. Without a terminal nothing is written. */
export function progressOn(
  terminal: Terminal,
  now: () => number = Date.now,
): { onProgress?: (progress: Progress) => void } {
  if (terminal.isTTY !== true) return {};
  let toldAtMs = -Infinity;
  return {
    onProgress: ({ files, bytes, totalFiles, totalBytes }) => {
      if (now() - toldAtMs < tellEveryMs && files < totalFiles) return;
      toldAtMs = now();
      const done = `${shown(files)} of ${shown(totalFiles)} files`;
      terminal.write(`\r${done}, ${megabytes(bytes)} of ${megabytes(totalBytes)}\x1b[K`);
    },
  };
}

export function summaryOf({ files, bytes, unsettled, missed }: Copied): string {
  const warnings = unsettled.map(
    (name) =>
      `${name} was written to all the while: its copy may not start. Stop it, and copy again.`,
  );
  for (const [why, { count, path }] of missed) {
    // Whoever named the file must not write to this terminal.
    warnings.push(`${reasons[why](shown(count))}, such as ${JSON.stringify(path)}.`);
  }
  const lines = [`${shown(files)} files, ${megabytes(bytes)}`, ...warnings];
  return lines.map((line) => `gangway: ${line}\n`).join('');
}

const reasons: Record<Missed, (count: string) => string> = {
  special: (count) => `Not copied, being no files: ${count} pipes, sockets and devices`,
  changed: (count) => `Not copied as they are now, for they changed or could not be read: ${count}`,
  deep: (count) => `Not copied, lying more than ${depthMax} folders deep: ${count} folders`,
};

function shown(count: number): string {
  return count.toLocaleString('en');
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}
