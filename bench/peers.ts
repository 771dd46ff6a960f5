/**
 * Owns the installation of what Gangway is measured against: packages of their own, below
 * `bench/peers`, that nothing else needs. They are installed by the first scenario that wants them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Bench, Server } from './harness.ts';

const folder = fileURLToPath(new URL('./peers/', import.meta.url));
const npm = fileURLToPath(new URL('../node_modules/npm/bin/npm-cli.js', import.meta.url));

/** Starts a program of `bench/peers`; installs first where that was not done for this lock file. */
export async function startPeer(
  bench: Bench,
  file: string,
  args: readonly string[],
): Promise<Server> {
  if (!isInstalled()) install();
  return await bench.startServer(`bench/peers/${file}`, args);
}

function isInstalled(): boolean {
  const installed = `${folder}node_modules/.package-lock.json`;
  if (!existsSync(installed)) return false;
  return statSync(installed).mtimeMs >= statSync(`${folder}package-lock.json`).mtimeMs;
}

function install(): void {
  console.log('installing the peers (npm ci in bench/peers) …');
  const args = [npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = spawnSync(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 300_000,
  });
  if (status === 0) return;
  const cause = error ?? new Error(`npm ended with ${String(status)}`);
  throw new Error('The peers cannot be installed: without them there is no comparison.', { cause });
}
