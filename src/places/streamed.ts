/** Owns how streams are read whose first byte says what follows. */
import type { Duplex } from 'node:stream';
import { ServiceError } from '../lib/errors.ts';

/** Undefined: the stream ended without any. Rejects with its error. */
export function firstByte(stream: Duplex): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const settled = (): void => {
      stream.off('readable', look);
      stream.off('end', ended);
      stream.off('error', failed);
      stream.off('close', ended);
    };
    const look = (): void => {
      const byte = stream.read(1) as Buffer | null;
      if (byte === null) return;
      settled();
      resolve(byte[0]);
    };
    const ended = (): void => {
      settled();
      resolve(undefined);
    };
    const failed = (error: Error): void => {
      settled();
      reject(error);
    };
    stream.on('readable', look);
    stream.on('end', ended);
    stream.on('error', failed);
    stream.on('close', ended);
    look();
  });
}

/** All that comes. Rejects with BAD_REQUEST where that is more. */
export async function restOf(stream: Duplex, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ServiceError('BAD_REQUEST', 'The other server sent too much.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
