/**
 * Owns the bytes of a log segment: a file header, then blocks, each the lines of one append.
 *
 *     file:   "GLS1" | u32 crc | u32 length | JSON {generation, firstOffset, createdAtMs, sources}
 *     block:  "GLB1" | u32 crc | u32 body length | u32 lines | f64 first offset | f64 first time
 *             | f64 last time | f64 source seq | u16 length of source id | u16 0 | body
 *     body:   source id | per line: u32 length * 4 + stream | i32 time after the first | bytes
 *
 * 1. The checksum covers everything behind it. So a block that was cut short or half written is
 *    recognised: a block is valid as a whole or not at all.
 * 2. All numbers are little endian.
 */
import { crc32 } from 'node:zlib';
import type { LogLine, LogSource } from './log.ts';

/** `GLS1` and `GLB1`, read as little-endian numbers. */
const fileMagic = 0x31534c47;
const blockMagic = 0x31424c47;
const fileHeadBytes = 12;
const blockHeadBytes = 52;
const lineHeadBytes = 8;
/** Longest body of a block. Bytes that claim a longer one are no block. */
export const blockBodyMaxBytes = 16 * 1024 * 1024;
const fileHeaderMaxBytes = 64 * 1024;
const streams = ['stdout', 'stderr', 'system', 'access'] as const;

export interface FileHeader {
  generation: string;
  firstOffset: number;
  createdAtMs: number;
  /** Last entry of each recent source that is stored in this log before this file. */
  sources: [id: string, seq: number][];
}

export interface Block {
  /** Length of header and body. */
  bytes: number;
  firstOffset: number;
  lines: number;
  firstAtMs: number;
  lastAtMs: number;
  source: LogSource | undefined;
}

/** What stands at a position: a whole block, a block of which more bytes are needed, or no block. */
export type BlockSight = Block | { needBytes: number } | 'corrupt';

export function encodeFileHeader(header: FileHeader): Buffer {
  const body = Buffer.from(JSON.stringify(header));
  const bytes = Buffer.allocUnsafe(fileHeadBytes + body.length);
  bytes.writeUInt32LE(fileMagic, 0);
  bytes.writeUInt32LE(body.length, 8);
  body.copy(bytes, fileHeadBytes);
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
  return bytes;
}

/** The header at the start of a file's bytes; undefined when it is not whole. */
export function decodeFileHeader(bytes: Buffer): { header: FileHeader; bytes: number } | undefined {
  if (bytes.length < fileHeadBytes || bytes.readUInt32LE(0) !== fileMagic) return undefined;
  const length = fileHeadBytes + bytes.readUInt32LE(8);
  if (length > fileHeaderMaxBytes || length > bytes.length) return undefined;
  if (crc32(bytes.subarray(8, length)) !== bytes.readUInt32LE(4)) return undefined;
  const header = JSON.parse(bytes.toString('utf8', fileHeadBytes, length)) as FileHeader;
  return { header, bytes: length };
}

/** No file header is longer than this. */
export const fileHeaderReadBytes = fileHeaderMaxBytes;

/** One block of at least one line; in `scratch` where it fits, which then is the caller's until the next one. */
export function encodeBlock(
  firstOffset: number,
  lines: readonly Omit<LogLine, 'offset'>[],
  source: LogSource | undefined,
  scratch: Buffer,
): Buffer {
  const first = lines[0];
  if (first === undefined) throw new Error('Cannot encode a block: it has no line');
  const sourceId = Buffer.from(source?.id ?? '');
  let body = sourceId.length;
  for (const line of lines) body += lineHeadBytes + line.bytes.length;
  if (body > blockBodyMaxBytes) throw new Error('Cannot encode a block: it is too long');
  const length = blockHeadBytes + body;
  const bytes = length <= scratch.length ? scratch.subarray(0, length) : Buffer.allocUnsafe(length);
  bytes.set(sourceId, blockHeadBytes);
  let at = blockHeadBytes + sourceId.length;
  let lastAtMs = first.atMs;
  for (const line of lines) {
    bytes.writeUInt32LE(line.bytes.length * 4 + streams.indexOf(line.stream), at);
    const after = Math.max(-0x80000000, Math.min(0x7fffffff, Math.trunc(line.atMs - first.atMs)));
    bytes.writeInt32LE(after, at + 4);
    bytes.set(line.bytes, at + lineHeadBytes);
    at += lineHeadBytes + line.bytes.length;
    if (line.atMs > lastAtMs) lastAtMs = line.atMs;
  }
  bytes.writeUInt32LE(blockMagic, 0);
  bytes.writeUInt32LE(body, 8);
  bytes.writeUInt32LE(lines.length, 12);
  bytes.writeDoubleLE(firstOffset, 16);
  bytes.writeDoubleLE(first.atMs, 24);
  bytes.writeDoubleLE(lastAtMs, 32);
  bytes.writeDoubleLE(source?.seq ?? 0, 40);
  bytes.writeUInt16LE(sourceId.length, 48);
  bytes.writeUInt16LE(0, 50);
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
  return bytes;
}

/** Looks at the block that starts at `at`; with `verify` its checksum is compared, too. */
export function sightBlock(bytes: Buffer, at: number, verify: boolean): BlockSight {
  const held = bytes.length - at;
  if (held < blockHeadBytes) return { needBytes: blockHeadBytes };
  if (bytes.readUInt32LE(at) !== blockMagic) return 'corrupt';
  const body = bytes.readUInt32LE(at + 8);
  if (body > blockBodyMaxBytes) return 'corrupt';
  const total = blockHeadBytes + body;
  if (held < total) return { needBytes: total };
  if (verify && crc32(bytes.subarray(at + 8, at + total)) !== bytes.readUInt32LE(at + 4)) {
    return 'corrupt';
  }
  const idLength = bytes.readUInt16LE(at + 48);
  if (idLength > body) return 'corrupt';
  const idAt = at + blockHeadBytes;
  return {
    bytes: total,
    firstOffset: bytes.readDoubleLE(at + 16),
    lines: bytes.readUInt32LE(at + 12),
    firstAtMs: bytes.readDoubleLE(at + 24),
    lastAtMs: bytes.readDoubleLE(at + 32),
    source:
      idLength === 0
        ? undefined
        : { id: bytes.toString('utf8', idAt, idAt + idLength), seq: bytes.readDoubleLE(at + 40) },
  };
}

/**
 * Hands the block's lines to `visit` in order, until it returns false. Their bytes are views of
 * `bytes`. Returns false when it was stopped, or when the block is not what its header says.
 */
export function visitLines(
  bytes: Buffer,
  at: number,
  block: Block,
  visit: (line: LogLine) => boolean,
): boolean {
  const end = at + block.bytes;
  let line = at + blockHeadBytes + bytes.readUInt16LE(at + 48);
  for (let i = 0; i < block.lines; i++) {
    if (line + lineHeadBytes > end) return false;
    const word = bytes.readUInt32LE(line);
    const from = line + lineHeadBytes;
    line = from + (word >>> 2);
    const stream = streams[word & 3];
    if (line > end || stream === undefined) return false;
    const atMs = block.firstAtMs + bytes.readInt32LE(from - 4);
    const goOn = visit({
      offset: block.firstOffset + i,
      atMs,
      stream,
      bytes: bytes.subarray(from, line),
    });
    if (!goOn) return false;
  }
  return true;
}
