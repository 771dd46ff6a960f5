/**
 * Owns the headers of the tar files that backups write: the format of GNU tar, which every tar reads. Names
 * are bytes; those beyond 100 have a header of their own in front.
 */

export interface TarEntry {
  name: Buffer;
  type: 'file' | 'folder' | 'link';
  /** Of a file; 0 for others. */
  size: number;
  /** Permission bits. */
  mode: number;
  mtimeMs: number;
  /** Of a link; else empty. */
  target: Buffer;
}

export const blockBytes = 512;
const nameBytes = 100;
const octalMax = 0o77777777777;
const flags = { file: '0', folder: '5', link: '2', longName: 'L', longTarget: 'K' };

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
  for (const at of [108, 116]) block.write(octal(0, 7), at, 'latin1');
  writeNumber(block, entry.size, 124);
  writeNumber(block, Math.max(0, Math.floor(entry.mtimeMs / 1000)), 136);
  block.write(flag, 156, 'latin1');
  entry.target.copy(block, 157, 0, nameBytes);
  block.write('ustar  \0', 257, 'latin1');
  block.fill(0x20, 148, 156);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, 'latin1');
  return block;
}

/** Octal in 12 bytes, or in base 256 where that is too small. */
function writeNumber(block: Buffer, value: number, at: number): void {
  if (value <= octalMax) {
    block.write(octal(value, 11), at, 'latin1');
    return;
  }
  block[at] = 0x80;
  block.writeBigUInt64BE(BigInt(value), at + 4);
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(paddingOf(bytes.length))]);
}
