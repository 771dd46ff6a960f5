/**
 * Owns one archive on its way out of a thread: read from disk, written as a zip, sent in chunks.
 *
 * 1. No more bytes are under way than the receiver has asked for, except the output of one read of the
 *    archive.
 * 2. A zip is sent as it is, because it was checked when it came. Any other archive is read twice, so that
 *    one that cannot become a zip is refused before the first byte.
 * 3. When the port closes, the file is closed and nothing more is read.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { ServiceError } from '../../lib/errors.ts';
import { type ByteSource, fileSource } from '../formats/byte-reader.ts';
import { inspectArchive } from '../formats/inspect.ts';
import type { SendRequest } from '../bulk-messages.ts';
import { type Outlet, sendThrough } from '../../workers/sending/outlet.ts';
import { ZipPlan, ZipWriter } from './zip-writer.ts';

const readBytes = 16 * 1024;
const chunkBytes = 64 * 1024;

export async function sendArchive(request: SendRequest): Promise<void> {
  await sendThrough(request.port, async (outlet) => {
    const file = await open(request.archive, 'r').catch((error: unknown) => {
      throw isGone(error) ? replaced(error) : error;
    });
    try {
      if (request.format === 'zip') await sendFile(file, outlet);
      else await sendPacked(file, request, outlet);
    } finally {
      await file.close();
    }
  });
}

async function sendFile(file: FileHandle, outlet: Outlet): Promise<void> {
  const source = pacedSource(file, outlet);
  outlet.begin();
  for (let bytes = await source.next(); bytes !== null; bytes = await source.next()) {
    outlet.write(bytes);
  }
}

async function sendPacked(file: FileHandle, request: SendRequest, outlet: Outlet): Promise<void> {
  const { format, limits, modifiedMs } = request;
  const { size: totalBytes } = await file.stat();
  // Only the reader of zips looks back.
  const common = { format, limits, totalBytes, file: { read: neverRead } };
  const plan = new ZipPlan();
  await inspectArchive({
    ...common,
    source: pacedSource(file, outlet),
    visitor: plan.visitor(),
  });
  outlet.begin();
  let directory: Uint8Array[] | null = null;
  const writer = new ZipWriter(plan, modifiedMs, (bytes) => {
    if (directory === null) outlet.write(bytes);
    else directory.push(bytes);
  });
  await inspectArchive({ ...common, source: pacedSource(file, outlet), visitor: writer });
  directory = [];
  writer.finish();
  for (const bytes of directory) {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      await outlet.room();
      outlet.write(bytes.subarray(at, at + chunkBytes));
    }
  }
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function replaced(cause: unknown): ServiceError {
  const detail = 'The archive was replaced at this moment. Ask again.';
  return new ServiceError('UPLOAD_IN_PROGRESS', detail, { cause });
}

function neverRead(): Promise<Uint8Array> {
  return Promise.reject(new Error('Cannot read back in this archive'));
}

/** A file from its beginning. It is read only while there is room for the output. */
function pacedSource(file: FileHandle, outlet: Outlet): ByteSource {
  const source = fileSource(file, readBytes);
  return {
    next: async () => {
      await outlet.room();
      return source.next();
    },
  };
}
