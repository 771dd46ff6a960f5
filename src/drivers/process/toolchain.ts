/**
 * Owns the tools that builds and apps run with: a node, its npm and the static file server, in a folder
 * that every uid may read and none but ours may write.
 *
 * 1. The folder is made anew when the version of a tool changes.
 * 2. `current` names the newest folder. The one before it stays for what still runs with it.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

import type { Logger } from '../../lib/log.ts';
import { stripped } from '../../lib/stripped-source.mjs';
import { copyTree, exists, makeDir, makeWhole, writeReadable } from './copied-tree.ts';

export interface ToolchainOptions {
  appsRoot: string;
  logger: Logger;
}

export interface Toolchain {
  /** For `PATH`: holds `node`, `npm` and `npx`. */
  binDir: string;
  node: string;
  /** JavaScript; run it as `node <it> <folder>` with `PORT` set. */
  staticServer: string;
}

const staticServer = new URL('../../programs/static/main.ts', import.meta.url);
const npmManuals: ReadonlySet<string> = new Set(['docs', 'man']);

export async function prepareToolchain(options: ToolchainOptions): Promise<Toolchain> {
  const root = path.join(options.appsRoot, 'toolchain');
  const npmDir = await npmFolder();
  const name = await versionName(npmDir);
  if (await makeWhole(path.join(root, name), (fresh) => fill(fresh, npmDir))) {
    options.logger.info({ toolchain: name }, 'toolchain_prepared');
  }
  await pointAt(root, name);
  return toolchainPaths(options.appsRoot);
}

/** Where the tools are once they are prepared; the same for every version. */
export function toolchainPaths(appsRoot: string): Toolchain {
  const current = path.join(appsRoot, 'toolchain', 'current');
  return {
    binDir: path.join(current, 'bin'),
    node: path.join(current, 'bin', 'node'),
    staticServer: path.join(current, 'lib', 'static-server.mjs'),
  };
}

/** Ours, or the one that came with this node; null: there is none, and apps that need it do not build. */
async function npmFolder(): Promise<string | null> {
  const besideNode = path.join(path.dirname(process.execPath), '..', 'lib', 'node_modules', 'npm');
  try {
    return path.dirname(createRequire(import.meta.url).resolve('npm/package.json'));
  } catch {
    // Where we are installed without packages.
    return (await exists(path.join(besideNode, 'package.json'))) ? besideNode : null;
  }
}

async function versionName(npmDir: string | null): Promise<string> {
  const version = npmDir === null ? 'none' : await versionOf(npmDir);
  const hash = createHash('sha256').update(await readStaticServer());
  return `node-${process.versions.node}-npm-${version}-${hash.digest('hex').slice(0, 8)}`;
}

async function versionOf(npmDir: string): Promise<string> {
  const manifest = JSON.parse(await fs.readFile(path.join(npmDir, 'package.json'), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}

/** The program that serves static releases: one file of JavaScript. */
export async function readStaticServer(): Promise<string> {
  return stripped(await fs.readFile(staticServer, 'utf8'));
}

async function fill(dir: string, npmDir: string | null): Promise<void> {
  const bin = path.join(dir, 'bin');
  const modules = path.join(dir, 'lib', 'node_modules');
  for (const made of [bin, path.join(dir, 'lib'), modules]) await makeDir(made);
  const node = path.join(bin, 'node');
  // A hard link to these 120 MB where the file system allows it.
  await fs.link(process.execPath, node).catch(() => fs.copyFile(process.execPath, node));
  await fs.chmod(node, 0o755);
  if (npmDir !== null) await addNpm(npmDir, bin, modules);
  await writeReadable(path.join(dir, 'lib', 'static-server.mjs'), await readStaticServer());
}

async function addNpm(npmDir: string, bin: string, modules: string): Promise<void> {
  await copyTree(npmDir, path.join(modules, 'npm'), npmManuals);
  for (const name of ['npm', 'npx']) {
    const cli = path.join('..', 'lib', 'node_modules', 'npm', 'bin', `${name}-cli.js`);
    await fs.symlink(cli, path.join(bin, name));
    await fs.chmod(path.join(bin, cli), 0o755);
  }
}

/** Points `current` at the new folder in one step; removes folders older than the one before. */
async function pointAt(root: string, name: string): Promise<void> {
  const current = path.join(root, 'current');
  const before = await fs.readlink(current).catch(() => undefined);
  if (before === name) return;
  const fresh = path.join(root, `current-${String(process.pid)}`);
  await fs.rm(fresh, { force: true });
  await fs.symlink(name, fresh);
  await fs.rename(fresh, current);
  for (const other of await fs.readdir(root)) {
    if (other === name || other === before || other === 'current') continue;
    await fs.rm(path.join(root, other), { recursive: true, force: true });
  }
}
