/**
 * Owns the reading of gzip files (RFC 1952). The library checks the CRC and the length of each member, and
 * goes on with the next one: gzip files of other tools may have several.
 *
 * 1. The library works on its thread pool. It is a few pieces of 256 KiB ahead at most, however far the data
 *    expands.
 * 2. What comes before the end was proven only by the end: whoever restores reads to the end first.
 */
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { corrupt } from './refusals.ts';

// Large enough that the change of threads costs little.
const pieceBytes = 256 * 1024;

/** Rejects with ARTIFACT_CORRUPT where anything but gzip members is in `source`, and with its errors. */
export async function* gunzipped(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const engine = createGunzip({ chunkSize: pieceBytes });
  const fed = { bytes: 0, isAll: false };
  async function* fedFrom(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      fed.bytes += chunk.length;
      yield chunk;
    }
    fed.isAll = true;
  }
  // Its errors come out of the engine.
  pipeline(fedFrom(), engine, () => undefined);
  try {
    for await (const piece of engine) yield piece as Uint8Array;
  } catch (error) {
    throw refusalOf(error);
  } finally {
    engine.destroy();
  }
  if (fed.bytes === 0) throw corrupt('it is empty');
  // The engine ends before its input where zeros follow.
  if (!fed.isAll || engine.bytesWritten < fed.bytes) {
    throw corrupt('something follows its gzip data');
  }
}

/** Codes of zlib, for what it refuses. */
const reasons: Record<string, string> = {
  Z_DATA_ERROR: 'its gzip data is damaged, or something else than gzip',
  Z_BUF_ERROR: 'its gzip data is cut off',
};

function refusalOf(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = reasons[code];
  return reason === undefined ? error : corrupt(reason, error);
}
