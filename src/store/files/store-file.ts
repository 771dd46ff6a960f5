/**
 * Owns what is looked at in the store's file before LMDB maps it. LMDB takes an empty file for a new one, and
 * a process that reads past the end of a mapped file is killed without a word (SIGBUS).
 *
 * 1. A missing or empty file is a new store only in a directory where nothing else shows that there was one:
 *    key, apps and all the rest are made once the store is on disk. So a first start that was cut short starts
 *    again.
 * 2. A file whose meta pages are not LMDB's, or that does not hold every page that its trees name, is refused.
 */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { StoreRefusal } from '../refusal.ts';
import { instanceKeyFile, keyCheckFile } from '../secrets.ts';
import { storeFolder } from './environment.ts';
import { holdsTree, metaOf } from './lmdb-pages.ts';
import { lockFile, takeProcessLock } from './process-lock.ts';

/** What only a start that had its store leaves behind: files, and folders with something in them. */
const keyFiles = [instanceKeyFile, keyCheckFile];
const folders = ['apps', 'docker', 'logs', 'metrics', 'runner', 'swarm', 'uploads'];

/** Whether the data directory has a store. Throws a StoreRefusal for one that is damaged or was lost. */
export function checkStoreFile(dir: string): 'new' | 'there' {
  const file = join(storeFolder(dir), 'data.mdb');
  const opened = existsSync(file) ? openSync(file, 'r') : null;
  try {
    const bytes = opened === null ? 0 : fstatSync(opened).size;
    if (opened !== null && bytes > 0) {
      const damage = damageOf(opened);
      if (damage === null) return 'there';
      throw refusal(dir, `its file data.mdb is ${damage}`);
    }
    const other = shownBy(dir);
    if (other === undefined) return 'new';
    const lost = opened === null ? 'missing' : 'empty';
    throw refusal(dir, `its file data.mdb is ${lost}, though ${other} is there`);
  } finally {
    if (opened !== null) closeSync(opened);
  }
}

/**
 * The same for a reader beside the process that has the store open, which may write while the file is looked
 * at: what that process serves is no damage.
 */
export function checkSharedStoreFile(dir: string): 'new' | 'there' {
  try {
    return checkStoreFile(dir);
  } catch (error) {
    if (isStoreInUse(dir)) return 'there';
    throw error;
  }
}

/** Whether a process has the store of this data directory open. */
export function isStoreInUse(dir: string): boolean {
  const folder = storeFolder(dir);
  if (!existsSync(join(folder, lockFile))) return false;
  try {
    takeProcessLock(folder).release();
    return false;
  } catch (error) {
    if (error instanceof StoreRefusal) return true;
    throw error;
  }
}

function refusal(dir: string, why: string): StoreRefusal {
  return new StoreRefusal(
    `Cannot open the store in ${storeFolder(dir)}: ${why}; move ${dir} away, then restore a snapshot or begin anew.`,
  );
}

/** The name of what shows that there was a store. */
function shownBy(dir: string): string | undefined {
  const key = keyFiles.find((name) => existsSync(join(dir, name)));
  return key ?? folders.find((name) => hasEntries(join(dir, name)));
}

function hasEntries(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length > 0;
}

function damageOf(file: number): 'damaged' | 'cut short' | null {
  const first = metaOf(readAt(file, 0, metaBytes));
  const second = first && metaOf(readAt(file, first.pageBytes, metaBytes));
  if (!first || !second) return 'damaged';
  // Of two alike LMDB takes the first.
  const newest = first.transaction >= second.transaction ? first : second;
  const { pageBytes, lastPage, roots } = newest;
  // A page that was freed in the transaction that took it is never written, so a shorter file may be whole.
  const pages = Math.floor(fstatSync(file).size / pageBytes);
  if (pages > lastPage) return null;
  const read = (page: number): Buffer => readAt(file, page * pageBytes, pageBytes);
  const isWhole = roots.every((root) => holdsTree({ pages, root, read }));
  return isWhole ? null : 'cut short';
}

const metaBytes = 168;

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, position));
}
