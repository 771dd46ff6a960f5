/**
 * Owns reading a tar from its start to its end, one entry after the other, with names as bytes.
 *
 * 1. What it is given may end anywhere: `CutOff` tells that from the end of the tar.
 * 2. Nothing is judged here: names, links and kinds are as they stand in the tar.
 */
import { ByteReader } from '../../archives/formats/byte-reader.ts';
import { tarNumber } from '../../archives/formats/tar-header.ts';
import { blockBytes, paddingOf, type TarOwner } from './tar-header.ts';

export interface TarItem {
  name: Buffer;
  /** As in POSIX: `0` file, `1` hard link, `2` link, `5` folder, others. */
  flag: string;
  /** Of its content. */
  size: number;
  mode: number;
  owner: TarOwner;
  mtimeMs: number;
  target: Buffer;
}

/** What headers before an entry tell of it. */
type Overrides = Partial<Pick<TarItem, 'name' | 'target' | 'size' | 'mtimeMs'> & TarOwner>;

/** The bytes end before the tar does. */
export class CutOff extends Error {
  override readonly name = 'CutOff';
}

const metaBytesMax = 1024 * 1024;
/** Headers that tell of the next entry: of POSIX, and GNU's long names. */
const metaFlags: ReadonlySet<string> = new Set(['x', 'g', 'L', 'K']);
const none = new Uint8Array(0);

export class TarReader {
  readonly #bytes: ByteReader;
  readonly #source: AsyncIterator<Uint8Array>;
  /** Of the entry that `next` told last. */
  #left = 0;
  #padding = 0;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    const source = bytes[Symbol.asyncIterator]();
    this.#source = source;
    this.#bytes = new ByteReader({
      next: async () => {
        const next = await source.next();
        return next.done === true ? null : next.value;
      },
    });
  }

  /** What is left of the last entry is skipped. Null: the tar is at its end. */
  async next(): Promise<TarItem | null> {
    const over: Overrides = {};
    for (;;) {
      await this.#skip();
      const block = await this.#take(blockBytes);
      if (block.every((byte) => byte === 0)) return null;
      const item = itemOf(block);
      this.#begin(item.size);
      if (!metaFlags.has(item.flag)) {
        const { uid = item.owner.uid, gid = item.owner.gid, ...more } = over;
        const whole = { ...item, ...more, owner: { uid, gid } };
        this.#begin(whole.size);
        return whole;
      }
      if (item.size > metaBytesMax) throw new Error('Cannot read a tar: a header is too long');
      const meta = await this.#take(item.size);
      this.#left = 0;
      if (item.flag === 'x') Object.assign(over, overridesOf(meta));
      else if (item.flag === 'L') over.name = untilNul(meta);
      else if (item.flag === 'K') over.target = untilNul(meta);
    }
  }

  /** The content of the entry that `next` told last; each piece is borrowed until the next one. */
  async *content(): AsyncGenerator<Uint8Array> {
    while (this.#left > 0) {
      const piece = (await this.#some()).subarray(0, this.#left);
      this.#left -= piece.length;
      yield piece;
      this.#bytes.skip(piece.length);
    }
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  #begin(size: number): void {
    this.#left = size;
    this.#padding = paddingOf(size);
  }

  async #skip(): Promise<void> {
    for (let left = this.#left + this.#padding; left > 0;) {
      const count = Math.min(left, (await this.#some()).length);
      this.#bytes.skip(count);
      left -= count;
    }
    this.#begin(0);
  }

  async #some(): Promise<Uint8Array> {
    const there = await this.#bytes.chunk();
    if (there === null) throw new CutOff('Cannot read on: the tar is cut off');
    return there;
  }

  async #take(count: number): Promise<Buffer> {
    const bytes = count === 0 ? none : await this.#bytes.peek(count);
    if (bytes === null) throw new CutOff('Cannot read on: the tar is cut off');
    this.#bytes.skip(count);
    return Buffer.from(bytes);
  }
}

function itemOf(block: Buffer): TarItem {
  const flag = block[156] === 0 ? '0' : String.fromCharCode(block[156] ?? 0);
  let name = untilNul(block.subarray(0, 100));
  // GNU tar has other fields where POSIX has the first part of a long name.
  const isPosix = block.toString('latin1', 257, 263) === 'ustar\0';
  if (isPosix && block[345] !== 0) {
    name = Buffer.concat([untilNul(block.subarray(345, 500)), Buffer.from('/'), name]);
  }
  return {
    ...{ name, flag, target: untilNul(block.subarray(157, 257)) },
    size: numberAt(block, 124, 12),
    mode: numberAt(block, 100, 8),
    owner: { uid: numberAt(block, 108, 8), gid: numberAt(block, 116, 8) },
    mtimeMs: numberAt(block, 136, 12) * 1000,
  };
}

/** Nought where it is malformed, or negative as only a time is. */
function numberAt(block: Buffer, at: number, length: number): number {
  return tarNumber(block, at, length) ?? 0;
}

function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return Buffer.from(end === -1 ? bytes : bytes.subarray(0, end));
}

/** Records of POSIX: `<length> <key>=<value>\n`. */
function overridesOf(bytes: Buffer): Overrides {
  const over: Overrides = {};
  for (let at = 0; at < bytes.length;) {
    const gap = bytes.indexOf(0x20, at);
    const equals = bytes.indexOf(0x3d, gap);
    const length = Number(bytes.toString('latin1', at, gap));
    if (gap < 0 || equals < 0 || !(length > gap - at)) {
      throw new Error('Cannot read a tar: an extended header is malformed');
    }
    const key = bytes.toString('latin1', gap + 1, equals);
    const value = Buffer.from(bytes.subarray(equals + 1, at + length - 1));
    if (key === 'path') over.name = value;
    else if (key === 'linkpath') over.target = value;
    else if (key === 'mtime') over.mtimeMs = Number(value.toString()) * 1000;
    else if (key === 'size' || key === 'uid' || key === 'gid') over[key] = Number(value.toString());
    at += length;
  }
  return over;
}
