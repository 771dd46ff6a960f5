/**
 * Owns the scripts and styles of our pages. A file's name in the address carries its version, so that
 * browsers keep it for ever. Files are looked up when a page is first requested, and read when they are.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { notFound } from '../http/problem.ts';
import type { Exchange, Headers, Route } from '../transport.ts';

interface Asset {
  /** The name as it stands in the address. */
  name: string;
  file: string;
}

interface Loaded {
  plain: Buffer;
  gzipped: Buffer | null;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
const require = createRequire(import.meta.url);

export class Assets {
  readonly #path: string;
  readonly #find: () => Promise<Asset[]>;
  readonly #compresses: boolean;
  #found: Promise<Asset[]> | null = null;
  readonly #loaded = new Map<string, Promise<Loaded>>();

  /** `path` is the folder in the address; `find` returns the files in the order a page loads them. */
  constructor(path: string, find: () => Promise<Asset[]>, compresses = true) {
    this.#path = path;
    this.#find = find;
    this.#compresses = compresses;
  }

  get route(): Route {
    const path = `${this.#path}/:file`;
    return { method: 'GET', path, handle: (exchange) => this.#send(exchange) };
  }

  /** The addresses of the files with this ending, in the order a page loads them. */
  async addresses(ending: '.css' | '.js'): Promise<string[]> {
    const names = (await this.#all()).map(({ name }) => `${this.#path}/${name}`);
    return names.filter((name) => name.endsWith(ending));
  }

  async #send(exchange: Exchange): Promise<void> {
    const name = exchange.param('file');
    const asset = (await this.#all()).find((one) => one.name === name);
    if (!asset) throw notFound();
    const loading = this.#loaded.get(name) ?? load(asset.file, this.#compresses);
    this.#loaded.set(name, loading);
    const { plain, gzipped } = await loading;
    if (exchange.aborted) return;
    const headers: Headers = {
      'Content-Type': types[extname(name)] ?? '',
      'Cache-Control': 'public, max-age=31536000, immutable',
      ...(gzipped && { Vary: 'Accept-Encoding' }),
    };
    const takesGzip = /\bgzip\b(?!;q=0(\.0*)?(,|$))/.test(exchange.header('accept-encoding'));
    if (gzipped === null || !takesGzip) exchange.send(200, headers, plain);
    else exchange.send(200, { ...headers, 'Content-Encoding': 'gzip' }, gzipped);
  }

  #all(): Promise<Asset[]> {
    return (this.#found ??= this.#find());
  }
}

async function load(file: string, compresses: boolean): Promise<Loaded> {
  const plain = await readFile(file);
  return { plain, gzipped: compresses ? await promisify(gzip)(plain) : null };
}

/** A file of this folder, under a name with a digest of its content. */
export function ownAsset(name: string, file: string): Promise<Asset> {
  return withDigest(name, fileURLToPath(new URL(file, import.meta.url)));
}

/** A file of a library, under a name with a digest of its content. */
export function digestedAsset(name: string, library: string, path: string): Promise<Asset> {
  return withDigest(name, join(dirname(require.resolve(`${library}/package.json`)), path));
}

/** A file of a library, under its name and version. */
export async function versionedAsset(library: string, path: string): Promise<Asset> {
  const manifest = require.resolve(`${library}/package.json`);
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  return { name: `${library}-${version}${extname(path)}`, file: join(dirname(manifest), path) };
}

async function withDigest(name: string, file: string): Promise<Asset> {
  const digest = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  return { name: `${name}-${digest.slice(0, 12)}${extname(file)}`, file };
}
