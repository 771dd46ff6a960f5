/**
 * Owns the reading of gzip files (RFC 1952): any number of members, each checked by its CRC and its
 * length, and nothing behind the last but zero bytes (which tapes and some tools add).
 */
import { crc32 } from 'node:zlib';
import type { ByteReader } from './byte-reader.ts';
import { type InflateSink, inflateRaw } from './inflate.ts';
import { bomb, corrupt } from './refusals.ts';

// Each member costs the setting up of a decompressor. Block-wise gzip makes members of some 16 KiB.
const membersMax = 100_000;
const headerTextMax = 64 * 1024;

const hasHeaderCrc = 2;
const hasExtra = 4;
const hasName = 8;
const hasComment = 16;
const reserved = 0xe0;

/** Reads all members; what they decompress to goes to `sink`, `consumed` counting all input. */
export async function gunzip(reader: ByteReader, sink: InflateSink): Promise<void> {
  for (let members = 1; ; members++) {
    if (members > membersMax) throw bomb(`it has more than ${membersMax} gzip members`);
    await header(reader);
    const before = reader.position;
    let crc = 0;
    let length = 0;
    await inflateRaw(reader, Number.POSITIVE_INFINITY, (bytes, consumed) => {
      crc = crc32(bytes, crc);
      length += bytes.length;
      sink(bytes, before + consumed);
    });
    const trailer = await reader.take(8);
    if (trailer === null) throw cutOff();
    const view = Buffer.from(trailer);
    if (view.readUInt32LE(0) !== crc) throw corrupt('its checksum is wrong');
    if (view.readUInt32LE(4) !== length % 2 ** 32) throw corrupt('its length is wrong');
    const next = await reader.chunk();
    if (next === null) return;
    if (next[0] === 0) return onlyZeros(reader);
  }
}

async function header(reader: ByteReader): Promise<void> {
  const start = reader.position;
  const head = await reader.take(10);
  if (head === null) throw cutOff();
  if (head[0] !== 0x1f || head[1] !== 0x8b) throw corrupt('something follows its gzip data');
  if (head[2] !== 8) throw corrupt('its compression method is unknown');
  const flags = head[3] ?? 0;
  if ((flags & reserved) !== 0) throw corrupt('its gzip header is not understood');
  let crc = crc32(head);
  const take = async (count: number): Promise<Uint8Array> => {
    const bytes = await reader.take(count);
    if (bytes === null) throw cutOff();
    crc = crc32(bytes, crc);
    return bytes;
  };
  if ((flags & hasExtra) !== 0) {
    const size = await take(2);
    await take((size[0] ?? 0) | ((size[1] ?? 0) << 8));
  }
  for (const flag of [hasName, hasComment]) {
    if ((flags & flag) === 0) continue;
    while ((await take(1))[0] !== 0) {
      if (reader.position - start > 2 * headerTextMax) throw corrupt('its gzip header is too long');
    }
  }
  if ((flags & hasHeaderCrc) !== 0) {
    const expected = crc & 0xffff;
    const stored = await take(2);
    if (((stored[0] ?? 0) | ((stored[1] ?? 0) << 8)) !== expected) {
      throw corrupt('the checksum of its gzip header is wrong');
    }
  }
}

async function onlyZeros(reader: ByteReader): Promise<void> {
  for (let chunk = await reader.chunk(); chunk !== null; chunk = await reader.chunk()) {
    for (const byte of chunk) if (byte !== 0) throw corrupt('something follows its gzip data');
    reader.skip(chunk.length);
  }
}

function cutOff(): Error {
  return corrupt('its gzip data is cut off');
}
