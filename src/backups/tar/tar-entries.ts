/**
 * Owns reading back the tar files that `tar-header.ts` writes, as the stream that they are. It reads those alone:
 * what only other programs write is refused.
 *
 * 1. Every block counts: a header's checksum, and only zeros behind the end, of which there are two blocks. So a
 *    tar that is cut off shows.
 * 2. Names are bytes, and are not looked at here.
 */
import { hasTarChecksum, isZeroBlock, tarNumber } from '../../archives/formats/tar-header.ts';
import { corrupt } from '../streams/refusals.ts';
import {
  blockBytes,
  flags,
  nameBytes,
  paddingOf,
  type TarEntry,
  type TarOwner,
} from './tar-header.ts';

export interface ReadEntry extends TarEntry {
  /** Nothing that is read by these has hard links. */
  type: Exclude<TarEntry['type'], 'hardlink'>;
  owner: TarOwner;
  /** Of a file, in chunks that are valid until the next one; to be read before the next entry. */
  content: AsyncIterable<Uint8Array>;
}

const longNameMax = 64 * 1024;
const none = Buffer.alloc(0);
const longs: Readonly<Record<string, 'name' | 'target'>> = {
  [flags.longName]: 'name',
  [flags.longTarget]: 'target',
};
const types: Readonly<Record<string, ReadEntry['type']>> = {
  [flags.file]: 'file',
  [flags.folder]: 'folder',
  [flags.link]: 'link',
};

/** Rejects with ARTIFACT_CORRUPT, and with the errors of `bytes`. */
export async function* tarEntries(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const input = new Input(bytes);
  let long: Partial<Record<'name' | 'target', Buffer>> = {};
  try {
    for (;;) {
      const block = await input.exactly(blockBytes);
      if (isZeroBlock(block)) break;
      if (!hasTarChecksum(block))
        throw corrupt('it is no tar, or the checksum of a header is wrong');
      const size = numberIn(block, 124, 12);
      const flag = String.fromCharCode(block[156] ?? 0);
      const field = longs[flag];
      if (field !== undefined) {
        if (long[field] !== undefined || size > longNameMax) throw corrupt('a long name is wrong');
        long[field] = upToNul(await input.exactly(size));
        await input.exactly(paddingOf(size));
        continue;
      }
      const content = new Content(input, size);
      yield { ...entryOf(block, flag, size), ...long, content };
      if (content.left > 0) throw new Error('Cannot go on: the content of an entry was not read');
      await input.exactly(paddingOf(size));
      long = {};
    }
    if (!isZeroBlock(await input.exactly(blockBytes))) throw corrupt('its end is wrong');
    await input.mustBeZeros();
  } finally {
    await input.close();
  }
}

function entryOf(block: Buffer, flag: string, size: number): Omit<ReadEntry, 'content'> {
  const type = types[flag];
  if (type === undefined) throw corrupt('it holds something else than files, folders and links');
  if (type !== 'file' && size > 0) throw corrupt('what is no file has content');
  return {
    type,
    size,
    name: upToNul(block.subarray(0, nameBytes)),
    target: type === 'link' ? upToNul(block.subarray(157, 157 + nameBytes)) : none,
    mode: numberIn(block, 100, 8) & 0o777,
    mtimeMs: numberIn(block, 136, 12) * 1000,
    owner: { uid: numberIn(block, 108, 8), gid: numberIn(block, 116, 8) },
  };
}

/** The bytes of one file. */
class Content implements AsyncIterable<Uint8Array> {
  readonly #input: Input;
  left: number;

  constructor(input: Input, size: number) {
    this.#input = input;
    this.left = size;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (this.left > 0) {
      const part = await this.#input.some(this.left);
      this.left -= part.length;
      yield part;
    }
  }
}

/** Bytes that are taken in pieces of any length. */
class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Uint8Array = none;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]();
  }

  async exactly(count: number): Promise<Buffer> {
    const taken = Buffer.alloc(count);
    for (let at = 0; at < count;) {
      const part = await this.some(count - at);
      taken.set(part, at);
      at += part.length;
    }
    return taken;
  }

  /** At least one byte, and `most` at most. */
  async some(most: number): Promise<Uint8Array> {
    while (this.#held.length === 0) {
      const next = await this.#chunks.next();
      if (next.done === true) throw corrupt('its tar is cut off');
      this.#held = next.value;
    }
    const part = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(part.length);
    return part;
  }

  /** All that is left. */
  async mustBeZeros(): Promise<void> {
    for (;;) {
      if (this.#held.some((byte) => byte !== 0)) throw corrupt('something follows its tar');
      const next = await this.#chunks.next();
      if (next.done === true) return;
      this.#held = next.value;
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

function numberIn(block: Buffer, start: number, length: number): number {
  const value = tarNumber(block, start, length);
  if (value === null) throw corrupt('a number in a header is malformed');
  return value;
}

function upToNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return end === -1 ? bytes : bytes.subarray(0, end);
}
