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

export async function exists(file: string): Promise<boolean> {
  return (await fs.stat(file).catch(() => undefined)) !== undefined;
}
