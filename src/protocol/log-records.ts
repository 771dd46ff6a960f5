/**
 * Owns how log entries are stored in a spool file and sent to followers: one record after the other,
 * `u32 length of the bytes | u8 stream (1 stdout, 2 stderr, 3 access) | f64 time (ms) | bytes`, big-endian.
 * Sequence numbers are not written: the first one is known, and the others follow.
 */
import type { EntryStream, LogEntry } from './workload.ts';

export const recordHeaderBytes = 13;
/** The longest entry. A longer line continues in the next entry. */
export const entryMaxBytes = 16 * 1024;
const streams: readonly EntryStream[] = ['stdout', 'stderr', 'access'];
/** Fewer bytes than these are copied faster one by one than by a call. */
const callBytes = 8;

/** Records for the pieces of `bytes` that end at `ends`, ascending, the first one beginning at 0. */
export function encodeRecords(
  bytes: Buffer,
  ends: readonly number[],
  stream: EntryStream,
  atMs: number,
): Buffer {
  const records = Buffer.allocUnsafe((ends.at(-1) ?? 0) + ends.length * recordHeaderBytes);
  const header = Buffer.alloc(recordHeaderBytes);
  header.writeUInt8(streams.indexOf(stream) + 1, 4);
  header.writeDoubleBE(atMs, 5);
  let position = 0;
  let start = 0;
  let length = -1;
  // Copies ranges without views: a view for each line would cost more than everything else.
  for (const end of ends) {
    if (end - start !== length) {
      length = end - start;
      header.writeUInt32BE(length, 0);
    }
    header.copy(records, position);
    position += recordHeaderBytes;
    if (length < callBytes) {
      for (let at = start; at < end; at++) records[position++] = bytes[at] ?? 0;
    } else {
      bytes.copy(records, position, start, end);
      position += length;
    }
    start = end;
  }
  return records;
}

/**
 * Counts the whole records at the start of `bytes`: at most `limit`, and none beyond `bytes`.
 * `end` is the position behind the last one; `torn` says that what follows can be no record.
 */
export function scanRecords(
  bytes: Buffer,
  limit = Infinity,
): { count: number; end: number; torn: boolean } {
  let count = 0;
  let end = 0;
  while (count < limit && bytes.length - end >= recordHeaderBytes) {
    const length = bytes.readUInt32BE(end);
    const stream = bytes.readUInt8(end + 4);
    if (length > entryMaxBytes || stream < 1 || stream > streams.length)
      return { count, end, torn: true };
    if (end + recordHeaderBytes + length > bytes.length) break;
    end += recordHeaderBytes + length;
    count++;
  }
  return { count, end, torn: false };
}

/** The records in `bytes`, as views of it. Throws RangeError on what `writeRecord` never wrote. */
export function decodeRecords(records: Uint8Array, firstSeq: number): LogEntry[] {
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  const entries: LogEntry[] = [];
  let position = 0;
  while (position < bytes.length) {
    const length = bytes.readUInt32BE(position);
    const end = position + recordHeaderBytes + length;
    if (end > bytes.length) throw new RangeError('Cannot decode log records: cut short');
    entries.push({
      seq: firstSeq + entries.length,
      atMs: bytes.readDoubleBE(position + 5),
      stream: streams[bytes.readUInt8(position + 4) - 1] ?? 'stderr',
      bytes: bytes.subarray(position + recordHeaderBytes, end),
    });
    position = end;
  }
  return entries;
}
