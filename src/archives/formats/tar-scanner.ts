/**
 * Owns the reading of a tar stream from pushed chunks. How the stream is split makes no difference.
 *
 * 1. Every block is accounted for: headers, data, padding, and only zeros after the end.
 * 2. As in GNU tar, the two zero blocks of the end may be missing; an entry may not be cut off.
 * 3. Cases that readers of tar treat differently (data after folders and links, two long names for one
 *    entry, sparse files) are refused.
 */
import type { ArchiveVisitor } from './entry.ts';
import type { EntryTree } from './entry-tree.ts';
import type { Meter } from './limits.ts';
import { decodeName, latin1, normalName } from './names.ts';
import { readPax, type PaxOverrides } from './pax.ts';
import { bomb, corrupt, quoted, unsafe } from './refusals.ts';
import {
  blockBytes,
  hasTarChecksum,
  hasTarMagic,
  isZeroBlock,
  readTarHeader,
  type TarHeader,
} from './tar-header.ts';

const metaBytesMax = 1024 * 1024;
// An entry has at most a pax header, a long name and a long link name before it.
const metaRunMax = 8;

type State =
  | { at: 'header' }
  | { at: 'data'; left: number; padding: number }
  | { at: 'meta'; type: string; bytes: Uint8Array; filled: number; padding: number }
  | { at: 'padding'; left: number }
  /** After the first zero block; `blocks` zero blocks were seen. */
  | { at: 'end'; blocks: number };

export class TarScanner {
  readonly #tree: EntryTree;
  readonly #visitor: ArchiveVisitor;
  readonly #meter: Meter;
  readonly #notTar: () => Error;
  readonly #partial = new Uint8Array(blockBytes);
  #partialBytes = 0;
  #state: State = { at: 'header' };
  #pending: PaxOverrides & { from?: 'pax' | 'gnu' } = {};
  #metaRun = 0;
  #blocks = 0;

  /** `notTar` is thrown when the very first block is no tar block. */
  constructor(tree: EntryTree, visitor: ArchiveVisitor, meter: Meter, notTar: () => Error) {
    this.#tree = tree;
    this.#visitor = visitor;
    this.#meter = meter;
    this.#notTar = notTar;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) at += this.#step(chunk, at);
  }

  /** The stream is over. */
  finish(): void {
    if (this.#blocks === 0 && this.#partialBytes > 0) {
      throw hasTarMagic(this.#partial) ? cutOff() : this.#notTar();
    }
    const state = this.#state;
    const whole = state.at === 'header' || state.at === 'end';
    if (!whole || this.#partialBytes > 0) {
      const zeros = state.at === 'end' && this.#partial.every((byte) => byte === 0);
      if (!zeros) throw cutOff();
    }
    if (this.#metaRun > 0) throw corrupt('it ends in a header without an entry');
  }

  /** Uses some of the chunk from `at` on; returns how many bytes. */
  #step(chunk: Uint8Array, at: number): number {
    const state = this.#state;
    const there = chunk.length - at;
    switch (state.at) {
      case 'data': {
        const used = Math.min(there, state.left);
        if (used > 0) this.#visitor.data(chunk.subarray(at, at + used));
        state.left -= used;
        if (state.left === 0) {
          this.#visitor.endFile();
          this.#pad(state.padding);
        }
        return used;
      }
      case 'meta': {
        const used = Math.min(there, state.bytes.length - state.filled);
        state.bytes.set(chunk.subarray(at, at + used), state.filled);
        state.filled += used;
        if (state.filled === state.bytes.length) {
          this.#meta(state.type, state.bytes);
          this.#pad(state.padding);
        }
        return used;
      }
      case 'padding': {
        const used = Math.min(there, state.left);
        this.#pad(state.left - used);
        return used;
      }
      case 'header':
      case 'end':
        return this.#gather(chunk, at);
    }
  }

  #gather(chunk: Uint8Array, at: number): number {
    if (this.#partialBytes === 0 && chunk.length - at >= blockBytes) {
      this.#block(chunk.subarray(at, at + blockBytes));
      return blockBytes;
    }
    const used = Math.min(chunk.length - at, blockBytes - this.#partialBytes);
    this.#partial.set(chunk.subarray(at, at + used), this.#partialBytes);
    this.#partialBytes += used;
    if (this.#partialBytes === blockBytes) {
      this.#partialBytes = 0;
      this.#block(this.#partial);
      this.#partial.fill(0);
    }
    return used;
  }

  #block(block: Uint8Array): void {
    const first = this.#blocks++ === 0;
    if (isZeroBlock(block)) {
      this.#state = { at: 'end', blocks: this.#state.at === 'end' ? this.#state.blocks + 1 : 1 };
      return;
    }
    if (this.#state.at === 'end') throw corrupt('something follows its end');
    if (!hasTarChecksum(block)) {
      if (first && !hasTarMagic(block)) throw this.#notTar();
      throw corrupt('the checksum of a header is wrong');
    }
    this.#header(readTarHeader(block));
  }

  #header(header: TarHeader): void {
    switch (header.type) {
      case 'x':
      case 'g':
      case 'L':
      case 'K':
        return this.#startMeta(header);
      case 'V':
        // A volume label is a name without content.
        if (header.size !== 0) throw corrupt('a volume label has data');
        return;
      default:
        return this.#entry(header);
    }
  }

  #startMeta({ type, size }: TarHeader): void {
    if (size > metaBytesMax) throw bomb('an extended header is too long');
    if (++this.#metaRun > metaRunMax) throw corrupt('too many headers stand before an entry');
    if (size === 0) {
      if (type === 'L' || type === 'K') throw corrupt('a long name is empty');
      return this.#meta(type, new Uint8Array(0));
    }
    const padding = paddingOf(size);
    this.#state = { at: 'meta', type, bytes: new Uint8Array(size), filled: 0, padding };
  }

  #meta(type: string, bytes: Uint8Array): void {
    switch (type) {
      case 'g':
        readPax(bytes, 'global');
        this.#metaRun--;
        return;
      case 'x':
        if (this.#pending.from !== undefined) throw corrupt('an entry has two extended headers');
        this.#pending = { ...readPax(bytes, 'entry'), from: 'pax' };
        return;
      default: {
        const key = type === 'L' ? 'path' : 'linkpath';
        if (this.#pending.from === 'pax' || this.#pending[key] !== undefined) {
          throw corrupt('an entry has two extended headers');
        }
        this.#pending = { ...this.#pending, [key]: longName(bytes), from: 'gnu' };
      }
    }
  }

  #entry(header: TarHeader): void {
    const {
      path: name = header.name,
      linkpath = header.linkName,
      size = header.size,
    } = this.#pending;
    this.#pending = {};
    this.#metaRun = 0;
    this.#meter.entry(name);
    if (name === '') throw corrupt('an entry has no name');
    const path = normalName(name);
    const { executable } = header;
    const isFolder = header.type === '5' || (isFile(header.type) && name.endsWith('/'));
    if (isFile(header.type) && !isFolder) {
      this.#meter.announce(size);
      this.#tree.addFile(path);
      this.#visitor.entry({ path, kind: 'file', executable, target: '' });
      this.#state = { at: 'data', left: size, padding: paddingOf(size) };
      if (size === 0) {
        this.#visitor.endFile();
        this.#state = { at: 'header' };
      }
      return;
    }
    if (isFolder) {
      this.#tree.addDirectory(path);
      this.#visitor.entry({ path, kind: 'directory', executable, target: '' });
    } else this.#link(header.type, path, linkpath);
    if (size !== 0) throw corrupt(`${quoted(name)} is no file but has data`);
  }

  #link(type: string, path: string, linkName: string): void {
    switch (type) {
      case '2':
        this.#tree.addSymlink(path, linkName);
        this.#visitor.entry({ path, kind: 'symlink', executable: false, target: linkName });
        return;
      case '1': {
        const target = normalName(linkName);
        const node = this.#tree.hardlinkTarget(path, target);
        if (node === 'file') {
          if (target === path) return;
          this.#tree.addFile(path);
          this.#visitor.entry({ path, kind: 'hardlink', executable: false, target });
        } else {
          // At another place the same link leads elsewhere, so it is checked as a link of its own.
          this.#tree.addSymlink(path, node.target);
          this.#visitor.entry({ path, kind: 'symlink', executable: false, target: node.target });
        }
        return;
      }
      case '3':
      case '4':
        throw unsafe(path, 'is a device');
      case '6':
        throw unsafe(path, 'is a FIFO');
      case 'S':
        throw corrupt('sparse files are not supported; pack them without --sparse');
      default:
        throw corrupt(`${quoted(path)} is of an unknown type`);
    }
  }

  #pad(left: number): void {
    this.#state = left === 0 ? { at: 'header' } : { at: 'padding', left };
  }
}

function isFile(type: string): boolean {
  return type === '0' || type === '7';
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

/** A GNU long name: its bytes up to the closing NUL; after it only NULs may follow. */
function longName(bytes: Uint8Array): string {
  const nul = bytes.indexOf(0);
  const end = nul < 0 ? bytes.length : nul;
  const name = decodeName(bytes.subarray(0, end), latin1);
  if (bytes.subarray(end).some((byte) => byte !== 0)) throw unsafe(name, 'has a NUL in its name');
  if (name === '') throw corrupt('a long name is empty');
  return name;
}

function cutOff(): Error {
  return corrupt('it is cut off');
}
