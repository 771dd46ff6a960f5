/**
 * Owns copies of programs that every uid may read and none but ours may write.
 *
 * A file that is so already is linked: a program of 2,000 files costs seconds and 15 MB to copy. What
 * is updated later is written anew by npm, so a copy keeps the files that it was made of.
 */
import fs from 'node:fs/promises';
import path from 'node:path';

/** Enough open files to keep the disk busy. */
const filesAtOnce = 16;

/** Copies folders and files, except links and the paths in `without`, which are relative to `from`. */
export async function copyTree(
  from: string,
  to: string,
  without: ReadonlySet<string> = new Set(),
): Promise<void> {
  const files: string[] = [];
  const walk = async (relative: string): Promise<void> => {
    await makeDir(path.join(to, relative));
    for (const entry of await fs.readdir(path.join(from, relative), { withFileTypes: true })) {
      const name = path.join(relative, entry.name);
      if (without.has(name)) continue;
      if (entry.isDirectory()) await walk(name);
      else if (entry.isFile()) files.push(name);
    }
  };
  await walk('');
  const takeAll = async (): Promise<void> => {
    for (let name = files.pop(); name !== undefined; name = files.pop()) {
      await takeFile(path.join(from, name), path.join(to, name));
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, takeAll));
}

async function takeFile(from: string, to: string): Promise<void> {
  const { mode, uid } = await fs.stat(from);
  const wanted = (mode & 0o100) === 0 ? 0o644 : 0o755;
  const isSo = uid === process.getuid?.() && (mode & 0o7777) === wanted;
  if (isSo && (await isLinked(from, to))) return;
  await fs.copyFile(from, to);
  await fs.chmod(to, wanted);
}

/** False on another file system, and where a file has all the links it may have. */
function isLinked(from: string, to: string): Promise<boolean> {
  return fs.link(from, to).then(
    () => true,
    () => false,
  );
}

export async function makeDir(dir: string): Promise<void> {
  await fs.mkdir(dir, { recursive: true });
  // The umask of this process does not count here.
  await fs.chmod(dir, 0o755);
}

export async function writeReadable(file: string, text: string): Promise<void> {
  await fs.writeFile(file, text);
  await fs.chmod(file, 0o644);
}

/** Fills a folder, which appears whole or not at all. False: it is there already. */
export async function makeWhole(
  place: string,
  fill: (fresh: string) => Promise<void>,
): Promise<boolean> {
  const root = path.dirname(place);
  await makeDir(root);
  if (await exists(place)) return false;
  const fresh = await fs.mkdtemp(path.join(root, 'new-'));
  try {
    await fill(fresh);
    await fs.chmod(fresh, 0o755);
    await fs.rename(fresh, place);
  } catch (error) {
    await fs.rm(fresh, { recursive: true, force: true });
    // Another process may have been faster.
    if (!(await exists(place))) throw error;
  }
  return true;
}

export async function exists(file: string): Promise<boolean> {
  return (await fs.stat(file).catch(() => undefined)) !== undefined;
}
