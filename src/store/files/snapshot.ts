/**
 * Owns copies of a data directory: taken while it is in use, and put back.
 *
 * 1. The store is copied as of one transaction. Files are copied before it, and after it again
 *    where they changed. So whatever a record names was there in one of the two rounds.
 * 2. The target appears complete and synced, or not at all.
 * 3. The instance key stays out unless it is asked for.
 * 4. What belongs to processes of this machine stays out: an instance that is started from the copy
 *    must not take the original's processes for its own. `restore` leaves it out too, for copies
 *    made before this rule. The tools stay out, which are made anew, links that are good for an
 *    hour, and backups.
 * 5. The files of a database whose server is running are copied until they belong to one moment:
 *    until nothing changed since the round before, or in an order from which the server's own log
 *    recovers.
 * 6. Apps and databases may change their own files meanwhile. That leads a copy nowhere else, and fails
 *    none: what could not be copied is counted.
 */
import { mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { open } from 'lmdb';
import {
  copyChanged,
  copyTree,
  dress,
  type FileCount,
  measureTree,
  type Missed,
  type TreeCopy,
} from '../../lib/untrusted-files/copy.ts';
import { Folder, ignoreChange, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import { storeFolder } from './environment.ts';
import { checkSharedStoreFile } from './store-file.ts';
import { fillWhole, refuseInside, refuseUnlessEmpty, syncFile } from './whole-folder.ts';
import { StoreRefusal } from '../refusal.ts';
import { instanceKeyFile } from '../secrets.ts';

export interface SnapshotOptions {
  /** Copy the instance key too; whoever has both can read every secret. */
  withKey: boolean;
  databases?: DatabaseFiles;
  /** May throw, which ends the copy. */
  onProgress?: (progress: Progress) => void;
  /** The target may lie in the data directory, and is not synced: it is read and removed at once. */
  passing?: boolean;
}

export interface RestoreOptions extends Pick<SnapshotOptions, 'databases' | 'onProgress'> {
  /** Is given the folder that is whole, and not yet in place. */
  finish?: (dir: string) => Promise<void>;
}

/** What is known of the files of databases. Paths are relative to the folder of a database. */
export interface DatabaseFiles {
  /** Whether a folder below `apps` is one of a database, told by its name. */
  isFolder(name: string): boolean;
  isOfProcesses(path: string): boolean;
  /** Where there is this file, the server makes a copy whole by replaying its log from here. */
  checkpoint: string;
  log: string;
}

/** How much was copied, and how much there was at the beginning. */
export interface Progress extends FileCount {
  totalFiles: number;
  totalBytes: number;
}

export interface Copied extends FileCount {
  /** Folders of databases that were written to throughout; their copies may not start. */
  unsettled: string[];
  missed: MissedCount;
}

/** What is in no copy, by the reason, with one path for each reason. Files of databases are settled. */
export type MissedCount = Map<Missed, { count: number; path: string }>;

/** How often the files of a database are copied before they are taken as they are. */
const settleTries = 5;
/** More than any file that names a checkpoint has. */
const checkpointMaxBytes = 64 * 1024;
const apps = 'apps';
/** In the artifact of a snapshot beside it; no part of a data directory. */
export const artifactFile = 'instance.json';
/** What belongs to processes, is good for an hour, or passes through. */
// prettier-ignore
const leftOut = [
  'runner', 'run', 'docker', 'swarm', 'resets', 'backups', 'restores', 'snapshots',
];
const toolchain = 'toolchain';

/** Copies `dir` into the new folder `target`, also while a process has its store open. */
export async function copyDataDirectory(
  dir: string,
  target: string,
  options: SnapshotOptions,
): Promise<Copied> {
  const from = resolve(dir);
  const to = resolve(target);
  const synced = options.passing !== true;
  if (synced) refuseInside(from, to);
  await refuseUnlessEmpty(to);
  const skip = new Set([...leftOut, relative(from, storeFolder(from))]);
  if (!options.withKey) skip.add(instanceKeyFile);
  const { databases } = options;
  const places = await placesOf(from, skip, databases);
  const counter = await counterOf(places, options.onProgress);
  const unsettled: string[] = [];
  const missed: MissedCount = new Map();
  await fillWhole(to, async (partial) => {
    const { seen } = counter;
    for (const place of places) await copyPlace(place, partial, { seen, synced });
    await copyStore(from, partial);
    for (const place of places) {
      await copyPlace(place, partial, { missed: countIn(missed, place), synced });
    }
    unsettled.push(...(await settleDatabases(places, partial, databases)));
  });
  return { ...counter.done, unsettled, missed };
}

/** Puts a copy in the place of an empty or missing data directory. */
export async function restoreDataDirectory(
  copy: string,
  dir: string,
  options: RestoreOptions = {},
): Promise<Copied> {
  const from = resolve(copy);
  const to = resolve(dir);
  await stat(join(storeFolder(from), 'data.mdb')).catch((error: unknown) => {
    throw isGone(error) ? new StoreRefusal(`There is no snapshot at ${from}.`) : error;
  });
  refuseInside(from, to);
  await refuseUnlessEmpty(to);
  const places = await placesOf(from, new Set([artifactFile]), options.databases);
  const counter = await counterOf(places, options.onProgress);
  const missed: MissedCount = new Map();
  await fillWhole(to, async (partial) => {
    for (const place of places) {
      await copyPlace(place, partial, { seen: counter.seen, missed: countIn(missed, place) });
    }
    await options.finish?.(partial);
  });
  return { ...counter.done, unsettled: [], missed };
}

/** A tree to copy, and what of it stays out. */
interface CopiedPlace {
  from: string;
  /** Relative to the copy; '' for the whole of it. */
  to: string;
  /** Told by a path below `from`. */
  leaves: (path: string) => boolean;
  isOfDatabase: (path: string) => boolean;
}

/** The data directory without app files, and app files, which may lie elsewhere, behind a link. */
async function placesOf(
  dir: string,
  skip: ReadonlySet<string>,
  databases: DatabaseFiles | undefined,
): Promise<CopiedPlace[]> {
  const none = (): boolean => false;
  const own = { from: dir, to: '', leaves: (path: string) => path === apps || skip.has(path) };
  const places: CopiedPlace[] = [{ ...own, isOfDatabase: none }];
  const found = await realpath(join(dir, apps)).catch(ignoreGone);
  if (found === undefined) return places;
  const split = (path: string): [boolean, string] => {
    const [name = '', ...rest] = path.split('/');
    return [databases?.isFolder(name) === true, rest.join('/')];
  };
  const leaves = (path: string): boolean => {
    const [isOfDatabase, rest] = split(path);
    return path === toolchain || (isOfDatabase && databases?.isOfProcesses(rest) === true);
  };
  places.push({ from: found, to: apps, leaves, isOfDatabase: (path) => split(path)[0] });
  return places;
}

async function copyPlace(
  { from, to, leaves }: CopiedPlace,
  target: string,
  told: Omit<TreeCopy, 'leaves'>,
): Promise<void> {
  if (to !== '') await mkdir(join(target, to), { recursive: true, mode: 0o711 });
  await within(Folder.open(from), (source) =>
    within(Folder.open(join(target, to)), async (copy) => {
      await copyTree(source, copy, { leaves, ...told });
      if (to !== '') await dress(copy.self, await source.self.stat());
    }),
  );
}

function countIn(
  missed: MissedCount,
  { to, isOfDatabase }: CopiedPlace,
): NonNullable<TreeCopy['missed']> {
  return (path, why) => {
    if (isOfDatabase(path)) return;
    const { count, path: first } = missed.get(why) ?? { count: 0, path: join(to, path) };
    missed.set(why, { count: count + 1, path: first });
  };
}

/** Folders of databases whose copies do not belong to one moment. */
async function settleDatabases(
  places: readonly CopiedPlace[],
  target: string,
  databases: DatabaseFiles | undefined,
): Promise<string[]> {
  const place = places.find(({ to }) => to === apps);
  if (databases === undefined || place === undefined) return [];
  const { from: dir, leaves } = place;
  const unsettled: string[] = [];
  await within(Folder.open(dir), (from) =>
    within(Folder.open(join(target, apps)), async (to) => {
      for (const path of (await readdir(dir)).filter((name) => databases.isFolder(name))) {
        // One that was made just now is not on both sides, and no record of the copy knows it.
        await inBoth({ from, to }, path, async (source, copy) => {
          const one = { from: source, to: copy, path, leaves };
          if (!(await isSettled(one, databases))) unsettled.push(path);
        });
      }
    }),
  );
  return unsettled;
}

/** A database on its way into a copy. */
interface CopiedDatabase {
  from: Folder;
  to: Folder;
  /** What its paths begin with. */
  path: string;
  leaves: CopiedPlace['leaves'];
}

async function isSettled(copy: CopiedDatabase, databases: DatabaseFiles): Promise<boolean> {
  for (let tried = 0; tried < settleTries; tried++) {
    if (await copyBehindCheckpoint(copy, databases)) return true;
    if ((await copyTree(copy.from, copy.to, copy, copy.path)) === 0) return true;
  }
  return false;
}

/**
 * Copies the file that names the checkpoint first and the log last. Where the server made no other
 * checkpoint meanwhile, the log holds all changes since. False where it made one, or where there is
 * no such file.
 */
async function copyBehindCheckpoint(
  { from, to, path, leaves }: CopiedDatabase,
  { checkpoint, log }: DatabaseFiles,
): Promise<boolean> {
  const before = await contentOf(from, checkpoint);
  if (before === null) return false;
  await inBoth({ from, to }, dirname(checkpoint), async (source, copy) => {
    const name = basename(checkpoint);
    const found = await source.lstat(name).catch(ignoreChange);
    if (found?.isFile()) await copyChanged({ from: source, to: copy }, name, found);
  });
  const later = new Set([`${path}/${checkpoint}`, `${path}/${log}`]);
  await copyTree(from, to, { leaves: (one) => later.has(one) || leaves(one) }, path);
  await inBoth({ from, to }, log, (source, copy) =>
    copyTree(source, copy, { leaves }, `${path}/${log}`),
  );
  const copied = await contentOf(to, checkpoint);
  const after = await contentOf(from, checkpoint);
  return after?.equals(before) === true && copied?.equals(before) === true;
}

/** The folder at this path on both sides, where both are there. */
async function inBoth(
  { from, to }: Pick<CopiedDatabase, 'from' | 'to'>,
  path: string,
  work: (source: Folder, copy: Folder) => Promise<unknown>,
): Promise<void> {
  const source = await from.below(path.split('/')).catch(ignoreChange);
  if (source === undefined) return;
  await within(Promise.resolve(source), async () => {
    const copy = await to.below(path.split('/')).catch(ignoreChange);
    if (copy !== undefined) await within(Promise.resolve(copy), () => work(source, copy));
  });
}

async function contentOf(folder: Folder, path: string): Promise<Buffer | null> {
  const above = await folder.below(dirname(path).split('/')).catch(ignoreChange);
  if (above === undefined) return null;
  return within(Promise.resolve(above), async () => {
    const file = await above.file(basename(path)).catch(ignoreChange);
    if (file === undefined) return null;
    try {
      return await readWhole(file, checkpointMaxBytes);
    } finally {
      await file.close();
    }
  });
}

/** Counts what was copied; `onProgress` is told of it against what there was at the beginning. */
async function counterOf(
  places: readonly CopiedPlace[],
  onProgress: SnapshotOptions['onProgress'],
): Promise<{ done: FileCount; seen: (bytes: number) => void }> {
  const done = { files: 0, bytes: 0 };
  const total = { files: 0, bytes: 0 };
  for (const { from, leaves } of onProgress ? places : []) {
    await within(Folder.open(from), (folder) => measureTree(folder, leaves, total));
  }
  const seen = (bytes: number): void => {
    done.files += 1;
    done.bytes += bytes;
    onProgress?.({ ...done, totalFiles: total.files, totalBytes: total.bytes });
  };
  return { done, seen };
}

function isGone(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ENOENT';
}

function ignoreGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
}

async function copyStore(from: string, to: string): Promise<void> {
  const folder = storeFolder(to);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = storeFolder(from);
  if (checkSharedStoreFile(from) === 'new') throw new StoreRefusal(`There is no store in ${from}.`);
  const root = open({ path, readOnly: true, maxReaders: 1024 });
  try {
    await root.backup(folder, true);
  } finally {
    await root.close();
  }
  await syncFile(join(folder, 'data.mdb'));
}
