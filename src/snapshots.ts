/** Owns the commands that copy a data directory: `snapshot`, also while served, and `restore`. */
import { resolveConfig } from './config.ts';
import { copyDataDirectory, restoreDataDirectory } from './store/snapshot.ts';

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
  else await restoreDataDirectory(dir, dataDir);
  process.stdout.write(command === 'snapshot' ? `Copied to ${dir}\n` : `Restored to ${dataDir}\n`);
  return true;
}
