/** Cuts work off as a kill does: from one change of the file system on, none happens any more. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const changes = ['rename', 'mkdir', 'rmdir', 'unlink', 'writeFile', 'chmod'] as const;

class Cut extends Error {}

/** Lets `work` make changes until the one of this number, counted from 1. Resolves with whether that came. */
export async function cutOff(at: number, work: () => Promise<unknown>): Promise<boolean> {
  const real = { ...fs.promises };
  let count = 0;
  for (const name of changes) {
    const change = real[name] as (...args: unknown[]) => Promise<unknown>;
    const counted = (...args: unknown[]): Promise<unknown> => {
      count += 1;
      return count < at ? change(...args) : Promise.reject(new Cut());
    };
    Object.assign(fs.promises, { [name]: counted });
  }
  syncBuiltinESMExports();
  try {
    await work();
  } catch (error) {
    if (count < at) throw error;
  } finally {
    Object.assign(fs.promises, real);
    syncBuiltinESMExports();
  }
  return count >= at;
}
