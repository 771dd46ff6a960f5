/**
 * Owns archives of a wanted size to be uploaded: source code, over and over, and random bytes. What is
 * repeated is compressed once, so that making half a gigabyte takes seconds. It is compressed beside the
 * thread that the scenarios of a smoke share.
 */
import { randomFillSync } from 'node:crypto';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32, deflateRaw, gzip, gzipSync } from 'node:zlib';
import { type Bench, home } from '../harness.ts';

const [deflated, gzipped] = [promisify(deflateRaw), promisify(gzip)];

export type Format = 'tar.gz' | 'zip';

export interface Archive {
  file: string;
  format: Format;
  bytes: number;
}

/** What everybody has that runs this bench: the project's own dependencies. */
const folders = ['typescript/lib', 'eslint/lib', 'zod', 'graphql', '@types/node'];
const tarEnd = Buffer.alloc(1_024);
/** Far more than what gzip looks back to, 32 KiB: what comes again is as random as before. */
const randomBytes = 16 * 2 ** 20;

/** What makes tars of source code, compressed to about `bytes`: many members of gzip, as parallel gzips write. */
export async function sourceTars(bench: Bench): Promise<(bytes: number) => Archive> {
  const once = await packedTar(bench, join(home, 'node_modules'), folders);
  return (bytes) => repeatedTar(bench, bytes, once);
}

/** The same of random bytes, which no compression makes smaller. */
export async function randomTar(bench: Bench, bytes: number): Promise<Archive> {
  const dir = bench.tempDir();
  const size = Math.min(bytes, randomBytes);
  writeFileSync(join(dir, 'random.bin'), randomFillSync(Buffer.alloc(size)));
  return repeatedTar(bench, bytes, await packedTar(bench, dir, ['random.bin']));
}

/** A tar of them without its end, so that a copy goes on where another one stops. */
async function packedTar(bench: Bench, from: string, names: readonly string[]): Promise<Buffer> {
  const tar = join(bench.tempDir(), 'once.tar');
  await bench.run('tar', ['-b1', '-cf', tar, '-C', from, ...names]);
  truncateSync(tar, statSync(tar).size - tarEnd.length);
  return await gzipped(readFileSync(tar));
}

function repeatedTar(bench: Bench, bytes: number, once: Buffer): Archive {
  return written(join(bench.tempDir(), 'all.tar.gz'), 'tar.gz', (write) => {
    for (let i = 0; i < repeats(bytes, once); i++) write(once);
    write(gzipSync(tarEnd));
  });
}

function repeats(bytes: number, once: Buffer): number {
  return Math.max(1, Math.floor(bytes / once.length));
}

interface Entry {
  name: string;
  crc: number;
  packed: Buffer;
  size: number;
}

// Smaller files would make more entries than the format has room for without its extensions.
const fileBytesMin = 16_384;

/** A zip of the same source code of about `bytes`, each copy in a folder of its own. */
export async function sourceZip(bench: Bench, bytes: number): Promise<Archive> {
  const entries: Entry[] = [];
  for (const path of filesBelow(join(home, 'node_modules'), folders)) {
    const content = readFileSync(join(home, 'node_modules', path));
    const size = content.length;
    entries.push({ name: path, crc: crc32(content), packed: await deflated(content), size });
  }
  const once = entries.reduce((sum, { packed }) => sum + packed.length, 0);
  const copies = Math.max(1, Math.floor(bytes / once));
  return written(join(bench.tempDir(), 'source.zip'), 'zip', (write) => {
    const directory: Buffer[] = [];
    let offset = 0;
    for (let copy = 0; copy < copies; copy++) {
      for (const entry of entries) {
        const name = Buffer.from(`copy-${copy}/${entry.name}`);
        const fields = entryFields(entry, name);
        directory.push(centralHeader(fields, name, offset));
        const local = Buffer.concat([signature(0x04034b50), fields, name]);
        write(local);
        write(entry.packed);
        offset += local.length + entry.packed.length;
      }
    }
    const central = Buffer.concat(directory);
    write(central);
    write(endRecord(directory.length, central.length, offset));
  });
}

function filesBelow(root: string, below: readonly string[]): string[] {
  return below.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => {
        const stats = statSync(join(root, path));
        return stats.isFile() && stats.size >= fileBytesMin;
      }),
  );
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** What local and central header have in common: version needed up to the length of extra fields. */
function entryFields({ crc, packed, size }: Entry, name: Buffer): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(8, 4);
  // The first day that the format knows.
  fields.writeUInt16LE(0x21, 8);
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(size, 18);
  fields.writeUInt16LE(name.length, 22);
  return fields;
}

function centralHeader(fields: Buffer, name: Buffer, offset: number): Buffer {
  const madeBy = Buffer.from([20, 0]);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(offset, 10);
  return Buffer.concat([signature(0x02014b50), madeBy, fields, rest, name]);
}

function endRecord(count: number, bytes: number, offset: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}

/** A copy that ends too soon. */
export function truncated(bench: Bench, { file, format }: Archive): Archive {
  const whole = readFileSync(file);
  const part = whole.subarray(0, Math.floor(whole.length / 2));
  const copy = join(bench.tempDir(), `truncated.${format}`);
  writeFileSync(copy, part);
  return { file: copy, format, bytes: part.length };
}

function written(
  file: string,
  format: Format,
  make: (write: (bytes: Buffer) => void) => void,
): Archive {
  const descriptor = openSync(file, 'w');
  try {
    make((bytes) => {
      for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
    });
  } finally {
    closeSync(descriptor);
  }
  return { file, format, bytes: statSync(file).size };
}
