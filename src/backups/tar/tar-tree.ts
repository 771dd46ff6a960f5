/**
 * Owns writing a tree of files as tar while somebody may change it.
 *
 * 1. Files are reached by `lib/untrusted-files` alone: no link is followed, and no pipe or device opened.
 * 2. A file has the length in the tar that it had when it was opened: what it grows by is left out, what it
 *    loses is zeros. What vanishes or is closed to us is told, and fails nothing.
 * 3. Memory does not grow with the number of files; what comes out is in blocks of 256 KiB.
 * 4. A link is kept only when it stays below the top of the tree by its text: first some `..`, none behind.
 *    So it does wherever the tree is put, whatever other links there are.
 */
import type { Stats } from 'node:fs';
import type { OpenFile } from '../../lib/untrusted-files/calls.ts';

import {
  depthMax,
  type Folder,
  ignoreChange,
  type Name,
} from '../../lib/untrusted-files/folder.ts';
import { paddingOf, tarHeaders, type TarOwner } from './tar-header.ts';

const outBytes = 256 * 1024;
const readBytes = 128 * 1024;
const none = Buffer.alloc(0);
/** The reader of tar files refuses these. */
const nameBytesMax = 255;
export const pathBytesMax = 3000;

export interface TarTree {
  /** What stays out; paths begin below the tree. */
  leaves?: (path: string) => boolean;
  /** Why something is not in it. */
  missed?: (path: string, why: TarMissed) => void;
  /** With all links and names as they are, and with owners: for who reads it by `tar-entries.ts`. */
  faithful?: boolean;
  /** Whether a file with so many bytes of holes, which become zeros, may be in it. */
  takesHoles?: (bytes: number) => boolean;
}

export const tarMissed = ['special', 'changed', 'deep', 'name', 'link', 'holes'] as const;
export type TarMissed = (typeof tarMissed)[number];

interface Level {
  folder: Folder;
  /** In the tar, with a slash at its end. */
  prefix: Buffer;
  /** Below the tree; '' for the top. */
  path: string;
  depth: number;
}

/** All below `folder`, under `prefix`, which ends in a slash; '' is the top of the tar. */
export async function* tarTree(
  folder: Folder,
  prefix: string,
  tree: TarTree,
): AsyncGenerator<Uint8Array> {
  const read = Buffer.allocUnsafe(readBytes);
  if (prefix !== '') yield* folderEntry(Buffer.from(prefix), await folder.self.stat(), tree);
  yield* level({ folder, prefix: Buffer.from(prefix), path: '', depth: 0 }, tree, read);
}

async function* level(at: Level, tree: TarTree, read: Buffer): AsyncGenerator<Uint8Array> {
  for await (const name of at.folder.names()) {
    const path = at.path === '' ? name.toString() : `${at.path}/${name.toString()}`;
    if (tree.leaves?.(path) === true) continue;
    const found = await at.folder.lstat(name).catch(ignoreChange);
    if (found === undefined) continue;
    const full = Buffer.concat([at.prefix, name]);
    const isName = tree.faithful === true || isKeepable(name);
    if (!isName || full.length > pathBytesMax) tree.missed?.(path, 'name');
    else if (found.isDirectory()) yield* folderIn(at, name, path, tree, read);
    else if (found.isSymbolicLink()) yield* linkIn(at, name, path, found, tree);
    else if (found.isFile() && isTooHollow(found, tree)) tree.missed?.(path, 'holes');
    else if (found.isFile()) yield* fileIn(at, name, path, tree, read);
    else tree.missed?.(path, 'special');
  }
}

async function* folderIn(
  { folder, prefix, depth }: Level,
  name: Name,
  path: string,
  tree: TarTree,
  read: Buffer,
): AsyncGenerator<Uint8Array> {
  if (depth === depthMax) return tree.missed?.(path, 'deep');
  const inner = await folder.folder(name).catch(ignoreChange);
  if (inner === undefined) return tree.missed?.(path, 'changed');
  try {
    const below = Buffer.concat([prefix, Buffer.from(name), Buffer.from('/')]);
    yield* folderEntry(below, await inner.self.stat(), tree);
    yield* level({ folder: inner, prefix: below, path, depth: depth + 1 }, tree, read);
  } finally {
    await inner.close();
  }
}

async function* linkIn(
  { folder, prefix, depth }: Level,
  name: Name,
  path: string,
  found: Stats,
  tree: TarTree,
): AsyncGenerator<Uint8Array> {
  const target = await folder.readlink(name).catch(ignoreChange);
  if (target === undefined) return tree.missed?.(path, 'changed');
  if (tree.faithful !== true && !staysBelow(target.toString('latin1'), depth)) {
    return tree.missed?.(path, 'link');
  }
  const full = Buffer.concat([prefix, Buffer.from(name)]);
  const entry = { name: full, type: 'link', size: 0, mode: 0o777, target } as const;
  yield tarHeaders({ ...entry, mtimeMs: found.mtimeMs, ...ownerOf(found, tree) });
}

async function* fileIn(
  { folder, prefix }: Level,
  name: Name,
  path: string,
  tree: TarTree,
  read: Buffer,
): AsyncGenerator<Uint8Array> {
  const file = await folder.file(name).catch(ignoreChange);
  if (file === undefined) return tree.missed?.(path, 'changed');
  try {
    yield* fileEntry(Buffer.concat([prefix, Buffer.from(name)]), file, read, tree);
  } finally {
    await file.close();
  }
}

/** One open file under a name. */
export async function* fileEntry(
  name: Buffer,
  file: OpenFile,
  read: Buffer = Buffer.allocUnsafe(readBytes),
  tree: TarTree = {},
): AsyncGenerator<Uint8Array> {
  const found = await file.stat();
  const { size, mode, mtimeMs } = found;
  const entry = { name, type: 'file', size, mode, mtimeMs, target: none } as const;
  yield tarHeaders({ ...entry, ...ownerOf(found, tree) });
  let at = 0;
  while (at < size) {
    const { bytesRead } = await file.read(read, 0, Math.min(read.length, size - at), at);
    if (bytesRead === 0) break;
    at += bytesRead;
    yield read.subarray(0, bytesRead);
  }
  yield* zeros(size - at + paddingOf(size));
}

/** Bytes of ours under a name. */
export function* textEntry(
  name: string,
  text: string | Uint8Array,
  mode = 0o644,
): Generator<Uint8Array> {
  const bytes = Buffer.from(text as string);
  const entry = { type: 'file', size: bytes.length, mode, target: none } as const;
  yield tarHeaders({ ...entry, name: Buffer.from(name), mtimeMs: Date.now() });
  yield bytes;
  yield* zeros(paddingOf(bytes.length));
}

function* folderEntry(name: Buffer, found: Stats, tree: TarTree): Generator<Uint8Array> {
  const { mode, mtimeMs } = found;
  const entry = { name, type: 'folder', size: 0, mode, mtimeMs, target: none } as const;
  yield tarHeaders({ ...entry, ...ownerOf(found, tree) });
}

function ownerOf({ uid, gid }: Stats, { faithful }: TarTree): { owner?: TarOwner } {
  return faithful === true ? { owner: { uid, gid } } : {};
}

function isTooHollow({ size, blocks }: Stats, { takesHoles }: TarTree): boolean {
  const holes = size - blocks * 512;
  return holes > 0 && takesHoles?.(holes) === false;
}

export function* zeros(count: number): Generator<Uint8Array> {
  for (let left = count; left > 0; left -= readBytes) yield Buffer.alloc(Math.min(left, readBytes));
}

/** What an archive may hold: see `archives/formats/names.ts`. A name that is no UTF-8 would become another. */
export function isKeepable(name: Buffer): boolean {
  const text = name.toString('utf8');
  if (name.length > nameBytesMax || !Buffer.from(text).equals(name)) return false;
  return !text.includes('\\') && !/^[A-Za-z]:/.test(text);
}

/** Whether a link `depth` folders below the top stays there by its text. */
export function staysBelow(target: string, depth: number): boolean {
  if (target === '' || /^\/|\\|^[A-Za-z]:/.test(target) || target.length > pathBytesMax)
    return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const ups = parts.findIndex((part) => part !== '..');
  const up = ups === -1 ? parts.length : ups;
  return up <= depth && !parts.slice(up).includes('..');
}

/** The same bytes in blocks of their own, so that small pieces cost little and pieces may be reused. */
export async function* inBlocks(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer<ArrayBuffer>> {
  let block = Buffer.allocUnsafe(outBytes);
  let filled = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      const taken = Math.min(piece.length - at, outBytes - filled);
      block.set(piece.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled < outBytes) continue;
      yield block;
      block = Buffer.allocUnsafe(outBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}

/** Opens, gives on and closes. */
export async function* ofFolder(
  opening: Promise<Folder>,
  prefix: string,
  tree: TarTree,
): AsyncGenerator<Uint8Array> {
  const folder = await opening;
  try {
    yield* tarTree(folder, prefix, tree);
  } finally {
    await folder.close();
  }
}
