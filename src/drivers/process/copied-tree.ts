/** Owns copies of programs that every uid may read and none but ours may write. */
import fs from 'node:fs/promises';
import path from 'node:path';

/** Enough open files to keep the disk busy. */
const copiesAtOnce = 16;

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
  const copy = async (): Promise<void> => {
    for (let name = files.pop(); name !== undefined; name = files.pop()) {
      const target = path.join(to, name);
      await fs.copyFile(path.join(from, name), target);
      const { mode } = await fs.stat(target);
      await fs.chmod(target, (mode & 0o100) === 0 ? 0o644 : 0o755);
    }
  };
  await Promise.all(Array.from({ length: copiesAtOnce }, copy));
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
