/**
 * Owns the promise that one process at a time writes a data directory.
 *
 * 1. The lock is the kernel's own record lock on a file: it ends with its process, however that
 *    ends, so nothing stale is ever left behind, and it holds across containers that share the
 *    directory, where process ids and sockets are not comparable.
 * 2. Of two that start at once, one gets it.
 *
 * Node has no call for such a lock; SQLite, which comes with Node, takes one for an exclusive
 * transaction on an empty database. Nothing else in this process may open the file: closing any
 * descriptor of it would release the lock.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreRefusal } from '../refusal.ts';

/** A process that was just killed may need a moment to end. */
const waitMs = 300;

export const lockFile = 'process.lock';

export interface ProcessLock {
  release(): void;
}

/** Takes the lock in `folder`, or throws a StoreRefusal that names the process holding it. */
export function takeProcessLock(folder: string): ProcessLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const holderFile = join(folder, 'process.pid');
  const database = new DatabaseSync(join(folder, lockFile), { timeout: waitMs });
  try {
    database.exec('PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    const by = holder(holderFile);
    throw new StoreRefusal(
      `Cannot open the store in ${folder}: it is in use by another process${by}.`,
      { cause: error },
    );
  }
  writeFileSync(holderFile, `${String(process.pid)}\n`, { mode: 0o600 });
  let held = true;
  return {
    release() {
      if (!held) return;
      held = false;
      database.close();
    },
  };
}

const sqliteBusy = 5;

function isBusy(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === sqliteBusy;
}

function holder(file: string): string {
  try {
    return ` (pid ${readFileSync(file, 'utf8').trim()})`;
  } catch {
    return ''; // Only a courtesy to the operator: the lock itself does not need it.
  }
}
