/**
 * Owns what a commit names and does not hold: submodules, where they are asked for, and files of Git LFS. They are
 * fetched and put into a tree beside the commit's own, from which its files are then taken.
 *
 * 1. Names that strangers chose go to git by its standard input.
 * 2. How many there are, how deep, and how large is bounded.
 */
import { once } from '../../lib/once.ts';
import { gitFailed, plainLine } from '../git-failure.ts';
import type { Repository } from '../repositories/repository.ts';
import { lfsBytes, type LfsObject, lfsPlaces, pointedBy, pointerBytes } from './lfs.ts';
import { submodulesOf } from './submodules.ts';
import { contentsOf, tooManyFiles, type TreeFile, treeFiles } from './tree-files.ts';
import type { Link } from './upload-pack.ts';

export interface WholeTreeOptions {
  repository: Repository;
  link: Link;
  /** Whether submodules are fetched, too. */
  submodules: boolean;
  /** Has the commit of a submodule fetched, unless it is there. */
  fetchCommit: (link: Link, sha: string) => Promise<void>;
  /** Of the repository, the one that the app is built from; null: all of it. */
  folder: string | null;
  /** `treeBytes`: of all files of Git LFS. */
  limits: { treeBytes: number; treeFiles: number; walkedFiles: number };
  say: (line: string) => void;
}

/** Of a commit with its additions: what git is told to find it by. */
export interface WholeTree {
  sha: string;
  env: Readonly<Record<string, string>>;
}

const depthMax = 5;
const submodulesMax = 50;
const lfsObjectsMax = 2_000;
/** Git holds one of them in memory. */
const lfsObjectBytesMax = 512 * 1024 ** 2;
const attributesBytesMax = 64 * 1024;
const gitlink = '160000';
const usesLfs = /\bfilter=lfs\b/;

type Pointer = [file: TreeFile, object: LfsObject];

export class WholeTrees {
  readonly #options: WholeTreeOptions;
  #made: Promise<Readonly<Record<string, string>>> | null = null;
  /** Lines for the index, each a path of the commit or below one of its submodules. */
  readonly #lines: string[] = [];
  #submodules = 0;
  #objects = 0;
  #bytes = 0;

  constructor(options: WholeTreeOptions) {
    this.#options = options;
  }

  /** Null: the commit holds all of it. Rejects with GIT_FAILED. */
  async of(sha: string): Promise<WholeTree | null> {
    await this.#add(sha, '', this.#options.link, 0);
    if (this.#lines.length === 0) return null;
    const { repository } = this.#options;
    const env = await this.#env();
    await repository.answer(['read-tree', sha], null, env);
    const lines = Buffer.from(this.#lines.join(''), 'latin1');
    await repository.answer(['update-index', '-z', '--index-info'], once(lines), env);
    const tree = await repository.answer(['write-tree'], null, env);
    return { sha: tree.trim(), env };
  }

  async #add(sha: string, prefix: string, link: Link, depth: number): Promise<void> {
    const { repository, submodules, limits } = this.#options;
    const links: TreeFile[] = [];
    const attributes: TreeFile[] = [];
    const small: TreeFile[] = [];
    for await (const file of treeFiles(repository, sha, limits)) {
      if (prefix !== '') this.#put(file, prefix + file.path, file.sha);
      if (Math.max(this.#lines.length, small.length) > limits.treeFiles) {
        throw tooManyFiles(limits.treeFiles);
      }
      if (file.mode === gitlink) {
        // It may hold the app's folder.
        const path = `${prefix}${file.path}/`;
        if (this.#isWanted(path) || `${this.#options.folder ?? ''}/`.startsWith(path))
          links.push(file);
      } else if (!file.mode.startsWith('100')) continue;
      else if (/(^|\/)\.gitattributes$/.test(file.path)) attributes.push(file);
      else if (isSmall(file) && this.#isWanted(prefix + file.path)) small.push(file);
    }
    await this.#addLfs(prefix, link, attributes, small);
    if (!submodules || links.length === 0) return;
    if (depth >= depthMax) throw gitFailed('The submodules lie too deep in each other.');
    this.#submodules += links.length;
    if (this.#submodules > submodulesMax) throw gitFailed('There are more than 50 submodules.');
    const remoteAt = await submodulesOf(repository, sha, link.remote);
    for (const one of links) {
      const inner: Link = { ...link, remote: remoteAt(one.path) };
      const path = prefix + one.path;
      this.#options.say(`Fetching the submodule ${shown(path)}.`);
      await this.#options.fetchCommit(inner, one.sha);
      this.#remove(path);
      await this.#add(one.sha, `${path}/`, inner, depth + 1);
    }
  }

  async #addLfs(
    prefix: string,
    link: Link,
    attributes: readonly TreeFile[],
    small: readonly TreeFile[],
  ): Promise<void> {
    if (!(await this.#namesLfs(attributes))) return;
    const pointers: Pointer[] = [];
    for await (const [file, content] of contentsOf(this.#options.repository, small)) {
      const object = pointedBy(content);
      if (object !== null) pointers.push([file, object]);
    }
    if (pointers.length === 0) return;
    this.#count(pointers);
    const objects = new Map(pointers.map(([, object]) => [object.oid, object]));
    const places = await lfsPlaces(link, [...objects.values()]);
    const blobs = new Map<string, string>();
    for (const object of objects.values()) {
      const place = places.get(object.oid) ?? null;
      if (place !== null) blobs.set(object.oid, await this.#store(lfsBytes(link, object, place)));
    }
    for (const [file, { oid }] of pointers) {
      const blob = blobs.get(oid);
      if (blob !== undefined) this.#put(file, prefix + file.path, blob);
    }
    this.#tell(pointers.length, pointers.filter(([, { oid }]) => !blobs.has(oid)).length);
  }

  async #namesLfs(attributes: readonly TreeFile[]): Promise<boolean> {
    const some = attributes.filter(({ size }) => size <= attributesBytesMax);
    let isNamed = false;
    for await (const [, content] of contentsOf(this.#options.repository, some)) {
      isNamed ||= usesLfs.test(content.toString('latin1'));
    }
    return isNamed;
  }

  #count(pointers: readonly Pointer[]): void {
    const { treeBytes } = this.#options.limits;
    this.#objects += pointers.length;
    for (const [, { size }] of pointers) this.#bytes += size;
    const isLarge = pointers.some(([, { size }]) => size > lfsObjectBytesMax);
    if (!isLarge && this.#objects <= lfsObjectsMax && this.#bytes <= treeBytes) return;
    throw gitFailed('The files of Git LFS are too many, or too large.');
  }

  #tell(all: number, left: number): void {
    const { say } = this.#options;
    if (left < all) say(`Fetched ${String(all - left)} files of Git LFS.`);
    if (left === 0) return;
    const what = `${String(left)} of the files of Git LFS lie on another host, which is not asked`;
    say(`${what}: there are small files in their place.`);
  }

  async #store(bytes: AsyncIterable<Uint8Array>): Promise<string> {
    const env = await this.#env();
    const args = ['-c', 'core.compression=0', 'hash-object', '-w', '--stdin'];
    return (await this.#options.repository.answer(args, bytes, env)).trim();
  }

  #put({ mode }: TreeFile, path: string, sha: string): void {
    this.#lines.push(`${mode} ${sha}\t${path}\0`);
  }

  #remove(path: string): void {
    this.#lines.push(`0 ${'0'.repeat(40)}\t${path}\0`);
  }

  /** Whether the app needs what lies there. */
  #isWanted(path: string): boolean {
    const { folder } = this.#options;
    return folder === null || path.startsWith(`${folder}/`);
  }

  #env(): Promise<Readonly<Record<string, string>>> {
    this.#made ??= this.#options.repository.beside();
    return this.#made;
  }
}

function isSmall({ size }: TreeFile): boolean {
  return size >= pointerBytes.min && size <= pointerBytes.max;
}

function shown(path: string): string {
  return plainLine(Buffer.from(path, 'latin1').toString());
}
