/** Owns the commands that copy a data directory: `snapshot`, also while served, and `restore`. */
import { existsSync, readdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { resolveConfig } from './config.ts';
import { StoreRefusal } from './store/refusal.ts';
import { copyDataDirectory } from './store/snapshot.ts';

/** Runs the command; false when its arguments are off. Throws StoreRefusal. */
export async function copyCommand(
  command: 'snapshot' | 'restore',
  args: readonly string[],
): Promise<boolean> {
  const withKey = args.includes('--with-key');
  const [dir, ...more] = args.filter((arg) => arg !== '--with-key');
  if (dir === undefined || dir.startsWith('-') || more.length > 0) return false;
  const { dataDir } = resolveConfig().config;
  if (command === 'snapshot') await copyDataDirectory(dataDir, dir, { withKey });
  else if (withKey) return false;
  else await restore(dir, dataDir);
  process.stdout.write(command === 'snapshot' ? `Copied to ${dir}\n` : `Restored to ${dataDir}\n`);
  return true;
}

async function restore(from: string, dataDir: string): Promise<void> {
  if (!existsSync(from)) throw new StoreRefusal(`There is no snapshot at ${from}.`);
  if (existsSync(dataDir) && readdirSync(dataDir).length > 0) {
    throw new StoreRefusal(`${dataDir} is not empty; restore into an empty data directory.`);
  }
  await cp(from, dataDir, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}
