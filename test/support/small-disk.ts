/** A small disk of a test's own, which it can fill. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** The folder of a file system of so many MiB; undefined, and the test skipped, where this user may mount none. */
export function smallDisk(t: TestContext, mebibytes: number): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-disk-'));
  const args = ['-t', 'tmpfs', '-o', `size=${String(mebibytes)}m`, 'tmpfs', dir];
  const isMounted = spawnSync('mount', args, { stdio: 'ignore' }).status === 0;
  t.after(() => {
    if (isMounted) spawnSync('umount', ['-l', dir]);
    rmSync(dir, { recursive: true, force: true });
  });
  if (!isMounted) t.skip('needs the right to mount a tmpfs');
  return isMounted ? dir : undefined;
}
