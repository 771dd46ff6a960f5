/**
 * Owns the finding of the end of stored zip data whose length nobody said: the first place where a
 * data descriptor stands that is true of all before it. The directory confirms the length later.
 */
import type { ByteReader } from './byte-reader.ts';
import { corrupt } from './refusals.ts';
import {
  asBuffer,
  descriptorBytesMax,
  descriptorBytesMin,
  descriptorLength,
} from './zip-records.ts';

const signature = Buffer.from([0x50, 0x4b, 0x07, 0x08]);

/** Hands all data to `take`, which keeps `found` up to date, and leaves the reader at the descriptor. */
export async function searchStored(
  reader: ByteReader,
  found: { crc: number; size: number },
  take: (bytes: Uint8Array, consumed: number) => void,
): Promise<void> {
  let consumed = 0;
  for (;;) {
    const chunk = await reader.chunk();
    if (chunk === null) throw corrupt('it is cut off');
    const at = asBuffer(chunk).indexOf(signature);
    let data = chunk.subarray(0, at < 0 ? Math.max(chunk.length - 3, 0) : at);
    if (data.length === 0) {
      if (await isAtDescriptor(reader, found)) return;
      data = (await reader.peek(1)) ?? data;
    }
    consumed += data.length;
    take(data, consumed);
    reader.skip(data.length);
  }
}

async function isAtDescriptor(
  reader: ByteReader,
  { crc, size }: { crc: number; size: number },
): Promise<boolean> {
  const bytes =
    (await reader.peek(descriptorBytesMax)) ?? (await reader.peek(descriptorBytesMin + 4));
  if (bytes === null || asBuffer(bytes).indexOf(signature) !== 0) return false;
  return descriptorLength(bytes, { crc, packed: size, size }) !== null;
}
