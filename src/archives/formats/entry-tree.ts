/**
 * Owns the tree that an archive would make, as far as safety needs it.
 *
 * 1. Nothing is ever placed below a link or a file.
 * 2. A name belongs to one kind of entry.
 * 3. No symbolic link leads out of the archive, not even through other links. This is checked on the
 *    finished tree, the way the kernel would walk it, with pauses for others.
 */
import { setImmediate } from 'node:timers/promises';

import type { Meter } from './limits.ts';
import { checkLinkTarget, parentOf } from './names.ts';
import { corrupt, quoted, unsafe } from './refusals.ts';

interface Folder {
  /** Null: it is the root. */
  parent: Folder | null;
  /** Folders above it. */
  depth: number;
  /** Folders and links in it: files lead nowhere. Null: there are none. */
  below: Map<string, Folder | Link> | null;
}

interface Link {
  target: string;
}

type Node = 'file' | Folder | Link;

// The number of links that the kernel follows before it returns ELOOP.
const hopsMax = 40;
/** Parts of targets, which take some milliseconds. */
const stepsPerTurn = 20_000;

export class EntryTree {
  readonly #meter: Meter;
  readonly #root: Folder = { parent: null, depth: 0, below: null };
  readonly #nodes = new Map<string, Node>();
  readonly #links = new Set<string>();
  #lastFolder = '';
  #stepsInTurn = 0;
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
    if (known === undefined) this.#makeFolder(path);
    else if (!isFolder(known)) throw this.#taken(path);
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
    if (known === 'file' || (known !== undefined && isFolder(known))) throw this.#taken(path);
    this.#setLink(path, target);
  }

  /** The kind of a hard link's target; throws when there is no such file or link. */
  hardlinkTarget(path: string, target: string): 'file' | Link {
    const node = this.#nodes.get(target);
    if (node === undefined || isFolder(node)) {
      throw corrupt(`the hard link ${quoted(path)} names no earlier file`);
    }
    return node;
  }

  /** Turns a file that was noted before into a symlink. */
  turnIntoSymlink(path: string, target: string): void {
    this.#setLink(path, target);
  }

  /** Checks rule 3 for all entries. */
  async finish(): Promise<void> {
    for (const path of this.#links) {
      if (!(await this.#staysIn(path, 0))) throw unsafe(path, 'is a link that leaves the archive');
    }
  }

  /**
   * The one top-level folder that holds everything, when all links stay inside it too; else null. The
   * folder `__MACOSX`, which the Finder adds to its archives, does not count.
   */
  async soleFolder(): Promise<string | null> {
    let sole: string | null = null;
    for (const [path, node] of this.#nodes) {
      if (path.includes('/') || path === '__MACOSX') continue;
      if (sole !== null || !isFolder(node)) return null;
      sole = path;
    }
    if (sole === null) return null;
    for (const path of this.#links) {
      if (path.startsWith(`${sole}/`) && !(await this.#staysIn(path, 1))) return null;
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
    const link = { target };
    this.#place(path, link, this.#folderOf(path));
    this.#links.add(path);
  }

  #claimFolder(folder: string): void {
    if (folder === '' || folder === this.#lastFolder) return;
    const known = this.#nodes.get(folder);
    if (known === undefined) {
      this.#claimFolder(parentOf(folder));
      this.#meter.entry(folder);
      this.#makeFolder(folder);
    } else if (known === 'file') {
      throw corrupt(`an entry lies below the file ${quoted(folder)}`);
    } else if (!isFolder(known)) {
      throw unsafe(folder, 'is a link that another entry is placed behind');
    }
    this.#lastFolder = folder;
  }

  #makeFolder(path: string): void {
    const parent = this.#folderOf(path);
    this.#place(path, { parent, depth: parent.depth + 1, below: null }, parent);
  }

  #place(path: string, node: Folder | Link, parent: Folder): void {
    parent.below ??= new Map();
    parent.below.set(nameOf(path), node);
    this.#nodes.set(path, node);
  }

  /** The one that holds this entry, which has been claimed. */
  #folderOf(path: string): Folder {
    const folder = parentOf(path);
    return folder === '' ? this.#root : (this.#nodes.get(folder) as Folder);
  }

  #taken(path: string): Error {
    return corrupt(`the name ${quoted(path)} stands for two different things`);
  }

  /** The first one last. */
  async #partsOf({ target }: Link): Promise<string[]> {
    const parts = target.split('/').reverse();
    this.#meter.linkSteps(parts.length);
    this.#stepsInTurn += parts.length;
    if (this.#stepsInTurn >= stepsPerTurn) {
      this.#stepsInTurn = 0;
      await setImmediate();
    }
    return parts;
  }

  /** Walks a link as the kernel would; false when a step goes above the first `floor` folders. */
  async #staysIn(path: string, floor: number): Promise<boolean> {
    const todo: string[] = [];
    let folder = this.#folderOf(path);
    /** Folders below that which the archive does not have: nothing is in them. */
    let missing = 0;
    let next: Folder | Link | undefined = folder.below?.get(nameOf(path));
    for (let hops = 0; ;) {
      if (next !== undefined && 'target' in next) {
        if (++hops > hopsMax) return true;
        todo.push(...(await this.#partsOf(next)));
      } else if (next !== undefined) folder = next;
      const part = todo.pop();
      if (part === undefined) return true;
      next = undefined;
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (folder.depth + missing <= floor) return false;
        if (missing > 0) missing -= 1;
        else folder = folder.parent ?? folder;
        continue;
      }
      if (missing === 0) next = folder.below?.get(part);
      if (next === undefined) missing += 1;
    }
  }
}

function isFolder(node: Node): node is Folder {
  return typeof node === 'object' && 'below' in node;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
