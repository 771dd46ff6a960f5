/**
 * Owns the tree that an archive would make, as far as safety needs it.
 *
 * 1. Nothing is ever placed below a link or a file.
 * 2. A name belongs to one kind of entry.
 * 3. No symbolic link leads out of the archive, not even through other links. This is checked on the
 *    finished tree, the way the kernel would walk it.
 */
import type { Meter } from './limits.ts';
import { checkLinkTarget, parentOf } from './names.ts';
import { bomb, corrupt, quoted, unsafe } from './refusals.ts';

type Node = 'file' | 'directory' | { target: string };

// The number of links that the kernel follows before it returns ELOOP.
const hopsMax = 40;
// Limits the work of rule 3: links through links through long paths multiply.
const stepsMax = 20_000_000;

export class EntryTree {
  readonly #meter: Meter;
  readonly #nodes = new Map<string, Node>();
  readonly #links = new Set<string>();
  #lastFolder = '';
  #steps = 0;
  #files = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** Files and links seen. */
  get files(): number {
    return this.#files;
  }

  has(path: string): boolean {
    return path === '' || this.#nodes.has(path);
  }

  /** Notes a folder; may be repeated. '' is the root. */
  addDirectory(path: string): void {
    if (path === '') return;
    this.#claimFolder(parentOf(path));
    const known = this.#nodes.get(path);
    if (known === undefined) this.#nodes.set(path, 'directory');
    else if (known !== 'directory') throw this.#taken(path);
  }

  /** Notes a file. Returns whether a file of this name existed before. */
  addFile(path: string): boolean {
    const known = this.#claim(path);
    if (known !== undefined && known !== 'file') throw this.#taken(path);
    this.#nodes.set(path, 'file');
    return known !== undefined;
  }

  addSymlink(path: string, target: string): void {
    const known = this.#claim(path);
    if (known === 'file' || known === 'directory') throw this.#taken(path);
    this.#setLink(path, target);
  }

  /** The kind of a hard link's target; throws when there is no such file or link. */
  hardlinkTarget(path: string, target: string): 'file' | { target: string } {
    const node = this.#nodes.get(target);
    if (node === undefined || node === 'directory') {
      throw corrupt(`the hard link ${quoted(path)} names no earlier file`);
    }
    return node;
  }

  /** Turns a file that was noted before into a symlink. */
  turnIntoSymlink(path: string, target: string): void {
    this.#setLink(path, target);
  }

  /** Checks rule 3 for all entries. */
  finish(): void {
    for (const path of this.#links) {
      if (!this.#staysIn(path, 0)) throw unsafe(path, 'is a link that leaves the archive');
    }
  }

  /**
   * The one top-level folder that holds everything, when all links stay inside it too; else null. The
   * folder `__MACOSX`, which the Finder adds to its archives, does not count.
   */
  soleFolder(): string | null {
    let sole: string | null = null;
    for (const [path, node] of this.#nodes) {
      if (path.includes('/') || path === '__MACOSX') continue;
      if (sole !== null || node !== 'directory') return null;
      sole = path;
    }
    if (sole === null) return null;
    for (const path of this.#links) {
      if (path.startsWith(`${sole}/`) && !this.#staysIn(path, 1)) return null;
    }
    return sole;
  }

  #claim(path: string): Node | undefined {
    if (path === '') throw corrupt('a file has no name');
    this.#claimFolder(parentOf(path));
    const known = this.#nodes.get(path);
    if (known === undefined) this.#files++;
    return known;
  }

  #setLink(path: string, target: string): void {
    checkLinkTarget(path, target);
    this.#meter.name(target);
    this.#nodes.set(path, { target });
    this.#links.add(path);
  }

  #claimFolder(folder: string): void {
    if (folder === '' || folder === this.#lastFolder) return;
    const known = this.#nodes.get(folder);
    if (known === undefined) {
      this.#claimFolder(parentOf(folder));
      this.#meter.entry(folder);
      this.#nodes.set(folder, 'directory');
    } else if (known === 'file') {
      throw corrupt(`an entry lies below the file ${quoted(folder)}`);
    } else if (known !== 'directory') {
      throw unsafe(folder, 'is a link that another entry is placed behind');
    }
    this.#lastFolder = folder;
  }

  #taken(path: string): Error {
    return corrupt(`the name ${quoted(path)} stands for two different things`);
  }

  /** Walks a link as the kernel would; false when a step goes above the first `floor` folders. */
  #staysIn(link: string, floor: number): boolean {
    const at = prefixesOf(parentOf(link));
    const todo: string[] = [];
    let hops = 0;
    let node: Node | undefined = this.#nodes.get(link);
    for (;;) {
      if (typeof node === 'object') {
        if (++hops > hopsMax) return true;
        todo.push(...node.target.split('/').reverse());
      }
      const part = todo.pop();
      if (part === undefined) return true;
      if (++this.#steps > stepsMax) throw bomb('its links lead through too many others');
      node = undefined;
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (at.length <= floor) return false;
        at.pop();
        continue;
      }
      const parent = at.at(-1);
      const path = parent === undefined ? part : `${parent}/${part}`;
      node = this.#nodes.get(path);
      if (typeof node !== 'object') at.push(path);
    }
  }
}

function prefixesOf(path: string): string[] {
  const prefixes: string[] = [];
  if (path === '') return prefixes;
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    prefixes.push(path.slice(0, end));
  }
  prefixes.push(path);
  return prefixes;
}
