/**
 * Owns copies of a data directory: taken while it is in use, and put back.
 *
 * 1. The store is copied as of one transaction. Files are copied before it, and after it again
 *    where they changed. So whatever a record names was there in one of the two rounds.
 * 2. The target appears complete and synced, or not at all.
 * 3. The instance key stays out unless it is asked for.
 * 4. What belongs to processes of this machine stays out: an instance that is started from the copy
 *    must not take the original's processes for its own. `restore` leaves it out too, for copies
 *    made before this rule. The tools stay out, which are made anew, and so do links that are good
 *    for an hour.
 * 5. The files of a database whose server is running are copied until they belong to one moment:
 *    until nothing changed since the round before, or in an order from which the server's own log
 *    recovers.
 */
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { open } from 'lmdb';
import {
  copyChanged,
  copyTree,
  type FileCount,
  ignoreGone,
  isGone,
  measureTree,
  syncFile,
} from './copy-tree.ts';
import { storeFolder } from './environment.ts';
import { StoreRefusal } from '../refusal.ts';
import { instanceKeyFile } from '../secrets.ts';

export interface SnapshotOptions {
  /** Copy the instance key too; whoever has both can read every secret. */
  withKey: boolean;
  databases?: DatabaseFiles;
  onProgress?: (progress: Progress) => void;
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
}

/** How often the files of a database are copied before they are taken as they are. */
const settleTries = 5;

/** Copies `dir` into the new folder `target`, also while a process has its store open. */
export async function copyDataDirectory(
  dir: string,
  target: string,
  options: SnapshotOptions,
): Promise<Copied> {
  const from = resolve(dir);
  const to = resolve(target);
  await refuseTarget(from, to);
  const skip = new Set(
    ['runner', 'run', 'docker', 'swarm', 'resets', join('apps', 'toolchain')].map((name) =>
      join(from, name),
    ),
  );
  skip.add(storeFolder(from));
  if (!options.withKey) skip.add(join(from, instanceKeyFile));
  const places = await placesOf(from, skip, options.databases);
  const counter = await counterOf(places, options.onProgress);
  const unsettled: string[] = [];
  await fillWhole(to, async (partial) => {
    for (const place of places) await copyPlace(place, partial, counter.seen);
    await copyStore(from, partial);
    for (const place of places) await copyPlace(place, partial);
    unsettled.push(...(await settleDatabases(places, partial, options.databases)));
  });
  return { ...counter.done, unsettled };
}

/** Puts a copy in the place of an empty or missing data directory. */
export async function restoreDataDirectory(
  copy: string,
  dir: string,
  options: Omit<SnapshotOptions, 'withKey'> = {},
): Promise<Copied> {
  const from = resolve(copy);
  const to = resolve(dir);
  await stat(join(storeFolder(from), 'data.mdb')).catch((error: unknown) => {
    throw isGone(error) ? new StoreRefusal(`There is no snapshot at ${from}.`) : error;
  });
  await refuseTarget(from, to);
  const places = await placesOf(from, new Set(), options.databases);
  const counter = await counterOf(places, options.onProgress);
  await fillWhole(to, async (partial) => {
    for (const place of places) await copyPlace(place, partial, counter.seen);
  });
  return { ...counter.done, unsettled: [] };
}

/** A tree to copy, and what of it stays out. */
interface CopiedPlace {
  from: string;
  /** Relative to the copy; '' for the whole of it. */
  to: string;
  leaves: (source: string) => boolean;
}

/** The data directory; app files may lie elsewhere, behind a link. */
async function placesOf(
  dir: string,
  skip: ReadonlySet<string>,
  databases: DatabaseFiles | undefined,
): Promise<CopiedPlace[]> {
  const link = join(dir, 'apps');
  const isElsewhere = (await lstat(link).catch(ignoreGone))?.isSymbolicLink() === true;
  const apps = isElsewhere ? await realpath(link) : link;
  const isOfProcesses = (source: string): boolean => {
    const [name = '', ...path] = relative(apps, source).split(sep);
    return databases?.isFolder(name) === true && databases.isOfProcesses(path.join('/'));
  };
  const whole = (source: string): boolean => skip.has(source) || isOfProcesses(source);
  if (!isElsewhere) return [{ from: dir, to: '', leaves: whole }];
  const toolchain = join(apps, 'toolchain');
  return [
    { from: dir, to: '', leaves: (source) => source === link || skip.has(source) },
    { from: apps, to: 'apps', leaves: (source) => source === toolchain || isOfProcesses(source) },
  ];
}

async function copyPlace(
  { from, to, leaves }: CopiedPlace,
  target: string,
  seen?: (bytes: number) => void,
): Promise<void> {
  if (to !== '') await mkdir(join(target, to), { recursive: true, mode: 0o711 });
  await copyTree(from, join(target, to), { leaves, ...(seen && { seen }) });
}

/** Folders of databases whose copies do not belong to one moment. */
async function settleDatabases(
  places: readonly CopiedPlace[],
  target: string,
  databases: DatabaseFiles | undefined,
): Promise<string[]> {
  const unsettled: string[] = [];
  if (databases === undefined) return unsettled;
  for (const { from, to, leaves } of places) {
    const isApps = to === 'apps';
    if (!isApps && places.length > 1) continue;
    const apps = isApps ? from : join(from, 'apps');
    for (const name of (await readdir(apps).catch(ignoreGone)) ?? []) {
      if (!databases.isFolder(name)) continue;
      const copy = { from: join(apps, name), to: join(target, 'apps', name), leaves };
      if (!(await isSettled(copy, databases))) unsettled.push(name);
    }
  }
  return unsettled;
}

async function isSettled(copy: CopiedPlace, databases: DatabaseFiles): Promise<boolean> {
  for (let tried = 0; tried < settleTries; tried++) {
    if (await copyBehindCheckpoint(copy, databases)) return true;
    if ((await copyTree(copy.from, copy.to, copy)) === 0) return true;
  }
  return false;
}

/**
 * Copies the file that names the checkpoint first and the log last. Where the server made no other
 * checkpoint meanwhile, the log holds all changes since. False where it made one, or where there is
 * no such file.
 */
async function copyBehindCheckpoint(
  { from, to, leaves }: CopiedPlace,
  { checkpoint, log }: DatabaseFiles,
): Promise<boolean> {
  const source = join(from, checkpoint);
  const before = await readFile(source).catch(ignoreGone);
  if (before === undefined) return false;
  await copyChanged(source, join(to, checkpoint));
  const logs = join(from, log);
  const later = (path: string): boolean => path === source || path === logs || leaves(path);
  await copyTree(from, to, { leaves: later });
  await copyTree(logs, join(to, log), { leaves });
  const copied = await readFile(join(to, checkpoint));
  const after = await readFile(source).catch(ignoreGone);
  return after !== undefined && after.equals(before) && copied.equals(before);
}

/** Counts what was copied; `onProgress` is told of it against what there was at the beginning. */
async function counterOf(
  places: readonly CopiedPlace[],
  onProgress: SnapshotOptions['onProgress'],
): Promise<{ done: FileCount; seen: (bytes: number) => void }> {
  const done = { files: 0, bytes: 0 };
  const total = { files: 0, bytes: 0 };
  for (const { from, leaves } of onProgress ? places : []) await measureTree(from, leaves, total);
  const seen = (bytes: number): void => {
    done.files += 1;
    done.bytes += bytes;
    onProgress?.({ ...done, totalFiles: total.files, totalBytes: total.bytes });
  };
  return { done, seen };
}

/** Makes the folder `to` by filling another one and renaming it (invariant 2). */
async function fillWhole(to: string, fill: (partial: string) => Promise<void>): Promise<void> {
  const partial = join(dirname(to), `.${basename(to)}.partial-${String(process.pid)}`);
  await rm(partial, { recursive: true, force: true });
  try {
    await mkdir(partial, { recursive: true, mode: 0o700 });
    await fill(partial);
    await chmod(partial, 0o700);
    await syncFile(partial);
    await rename(partial, to);
    await syncFile(dirname(to));
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

async function refuseTarget(from: string, to: string): Promise<void> {
  const inside = relative(from, to);
  if (inside === '' || !inside.startsWith('..')) {
    throw new StoreRefusal(`Cannot copy to ${to}: it lies in ${from}.`);
  }
  const present = await readdir(to).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  if (present.length > 0) throw new StoreRefusal(`Cannot copy to ${to}: it is not empty.`);
}

async function copyStore(from: string, to: string): Promise<void> {
  const folder = storeFolder(to);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = storeFolder(from);
  await stat(join(path, 'data.mdb'));
  const root = open({ path, readOnly: true, maxReaders: 1024 });
  try {
    await root.backup(folder, true);
  } finally {
    await root.close();
  }
  await syncFile(join(folder, 'data.mdb'));
}
