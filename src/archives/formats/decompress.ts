/**
 * Owns the decompression of data from a reader, up to the data's own end and not a byte further.
 *
 * 1. The library works on its thread pool while this thread does other things. A finished piece is handed
 *    on while the next one is made; never more than two exist.
 * 2. Bytes after the compressed data stay in the reader.
 */
import {
  createGunzip,
  createInflateRaw,
  type Gunzip,
  type InflateRaw,
  inflateRawSync,
} from 'node:zlib';
import type { ByteReader } from './byte-reader.ts';
import { corrupt } from './refusals.ts';

// Large enough that the change of threads costs little.
const outputBytes = 256 * 1024;

type Engine = InflateRaw | Gunzip;

/** Takes a decompressed piece; `consumed` is how much of the compressed data was used so far. */
export type InflateSink = (bytes: Uint8Array, consumed: number) => void;

/**
 * Inflates raw deflate data up to its own end, from at most `inputMax` bytes. Returns the length of the
 * deflate data. Throws ARCHIVE_CORRUPT, and the errors of the sink.
 */
export function inflateRaw(
  reader: ByteReader,
  inputMax: number,
  sink: InflateSink,
): Promise<number> {
  return decompress(createInflateRaw({ chunkSize: outputBytes }), reader, inputMax, sink);
}

/**
 * Decompresses a gzip file (RFC 1952) to its end. The library checks the CRC and length of each member, and
 * continues with the next one. After the last one only zero bytes may follow, which tapes and some tools
 * add. Throws ARCHIVE_CORRUPT, and the errors of the sink.
 */
export async function gunzip(reader: ByteReader, sink: InflateSink): Promise<void> {
  const engine = createGunzip({ chunkSize: outputBytes });
  await decompress(engine, reader, Number.POSITIVE_INFINITY, sink);
  for (let chunk = await reader.chunk(); chunk !== null; chunk = await reader.chunk()) {
    if (chunk.some((byte) => byte !== 0)) throw corrupt('something follows its gzip data');
    reader.skip(chunk.length);
  }
}

async function decompress(
  engine: Engine,
  reader: ByteReader,
  inputMax: number,
  sink: InflateSink,
): Promise<number> {
  const over = Promise.withResolvers<undefined>();
  let failure: Error | null = null;
  const fail = (error: Error): void => {
    failure ??= error;
    engine.destroy();
    over.resolve(undefined);
  };
  engine.on('data', (bytes: Uint8Array<ArrayBuffer>) => {
    const consumed = engine.bytesWritten;
    // Called later, so that the library first sends its thread the next piece of work.
    queueMicrotask(() => {
      if (failure !== null) return;
      try {
        sink(bytes, consumed);
        free(bytes);
      } catch (error) {
        fail(error as Error);
      }
    });
  });
  engine.on('error', ({ message }) => fail(corrupt(`its compressed data is broken (${message})`)));
  engine.on('end', () => over.resolve(undefined));
  /** Waits for the work, or for the end of the data. Throws the sink's error. */
  const settled = async (work: Promise<unknown>): Promise<void> => {
    await Promise.race([over.promise, work]);
    if (failure !== null) throw failure;
  };
  try {
    for (let fed = 0; ;) {
      const chunk = fed < inputMax ? await reader.chunk() : null;
      if (chunk === null) {
        // The input is over: either the data is over as well, or it is cut off, which is an error.
        engine.end();
        await settled(over.promise);
        return fed;
      }
      const piece = chunk.subarray(0, inputMax - fed);
      await settled(new Promise((resolve) => engine.write(piece, resolve)));
      const used = engine.bytesWritten - fed;
      reader.skip(used);
      fed += used;
      if (used === piece.length) continue;
      // The library leaves bytes that it does not use: the data was over before.
      await settled(over.promise);
      return fed;
    }
  } finally {
    engine.destroy();
  }
}

/**
 * Frees a buffer's memory at once, when the library filled it and so has a new one. Otherwise tens of
 * megabytes would wait for the garbage collector.
 */
function free(bytes: Uint8Array<ArrayBuffer>): void {
  const { buffer, byteOffset, length } = bytes;
  if (buffer.byteLength === outputBytes && byteOffset + length === outputBytes) buffer.transfer(0);
}

/** Inflates complete data of a known size. Throws ARCHIVE_CORRUPT. */
export function inflateWhole(packed: Uint8Array, size: number): Buffer {
  try {
    // The types lack `info`, which adds the engine, and so how much of the input was used.
    const result: unknown = inflateRawSync(packed, {
      maxOutputLength: Math.max(size, 1),
      info: true,
    });
    const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } };
    if (engine.bytesWritten !== packed.length) {
      throw corrupt('its compressed data ends before its header says');
    }
    return buffer;
  } catch (error) {
    if (error instanceof RangeError || isZlibError(error)) {
      throw corrupt('its compressed data is broken');
    }
    throw error;
  }
}

function isZlibError(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('Z_')
  );
}
