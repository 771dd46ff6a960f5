/**
 * Owns the headers of the tar files that backups write: the format of GNU tar, which every tar reads. Names
 * are bytes; those beyond 100 have a header of their own in front.
 */

export interface TarEntry {
  name: Buffer;
  type: 'file' | 'folder' | 'link' | 'hardlink';
  /** Of a file; 0 for others. */
  size: number;
  /** Permission bits; others are left out. */
  mode: number;
  mtimeMs: number;
  /** Of a link, and of a hard link the name of an earlier file; else empty. */
  target: Buffer;
  /** Absent: nobody's in particular. */
  owner?: TarOwner;
}

export interface TarOwner {
  uid: number;
  gid: number;
}

export const blockBytes = 512;
export const nameBytes = 100;
/** What stands at the beginning of a field that is a number of base 256. */
const base256 = 0x80;
export const flags = {
  ...{ file: '0', folder: '5', link: '2', hardlink: '1' },
  ...{ longName: 'L', longTarget: 'K' },
};

/** All blocks in front of the content of an entry. */
export function tarHeaders(entry: TarEntry): Buffer {
  const blocks: Buffer[] = [];
  for (const [flag, text] of [
    [flags.longTarget, entry.target],
    [flags.longName, entry.name],
  ] as const) {
    if (text.length <= nameBytes) continue;
    const bytes = Buffer.concat([text, Buffer.alloc(1)]);
    const long = {
      name: Buffer.from('././@LongLink'),
      size: bytes.length,
      mode: 0o644,
      mtimeMs: 0,
    };
    blocks.push(header({ ...long, target: Buffer.alloc(0) }, flag), padded(bytes));
  }
  blocks.push(header(entry, flags[entry.type]));
  return Buffer.concat(blocks);
}

/** Zeros behind content of this length. */
export function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

/** What ends a tar. */
export const tarEnd = Buffer.alloc(2 * blockBytes);

function header(entry: Omit<TarEntry, 'type'>, flag: string): Buffer {
  const block = Buffer.alloc(blockBytes);
  entry.name.copy(block, 0, 0, nameBytes);
  block.write(octal(entry.mode & 0o777, 7), 100, 'latin1');
  const { uid, gid } = entry.owner ?? { uid: 0, gid: 0 };
  writeNumber(block, uid, 108, 8);
  writeNumber(block, gid, 116, 8);
  writeNumber(block, entry.size, 124, 12);
  writeNumber(block, Math.max(0, Math.floor(entry.mtimeMs / 1000)), 136, 12);
  block.write(flag, 156, 'latin1');
  entry.target.copy(block, 157, 0, nameBytes);
  block.write('ustar  \0', 257, 'latin1');
  block.fill(0x20, 148, 156);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, 'latin1');
  return block;
}

/** Octal in so many bytes, or in base 256 where that is too small. */
function writeNumber(block: Buffer, value: number, at: number, length: number): void {
  const digits = octal(value, length - 1);
  if (digits.length < length) {
    block.write(digits, at, 'latin1');
    return;
  }
  block[at] = base256;
  // 48 bits are more than any of them needs.
  block.writeUIntBE(value, at + length - 6, 6);
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(paddingOf(bytes.length))]);
}
