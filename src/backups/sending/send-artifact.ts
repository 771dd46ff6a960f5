/**
 * Owns one artifact on its way out of a thread: read from its folder, opened where it is encrypted, sent in
 * chunks.
 *
 * 1. What cannot be read, or is not what was written, is refused before the first byte.
 * 2. Nothing is read while the receiver has no room, and nothing that was read is kept meanwhile: no more is sent
 *    than there is room for, and a chunk of an age file that is larger is opened again for its rest.
 */
import { ServiceError } from '../../lib/errors.ts';
import { type Outlet, sendThrough } from '../../workers/sending/outlet.ts';
import { bytesOf } from '../destinations/destination.ts';
import { type OpenObject, ServerDestination } from '../destinations/server-destination.ts';
import { OpenedFile } from '../streams/age/opened-file.ts';
import { chunkBytes as sealedChunkBytes } from '../streams/age/payload.ts';
import { type SendArtifact, windowChunks } from './artifact-messages.ts';
import type { ReadBuffers } from './read-buffers.ts';

/** What is sent of an artifact. */
interface Content {
  bytes: number;
  /** The most that is read at once; chunks of age files begin where pieces do. */
  pieceBytes: number;
  /** What is at this position, in `memory`. */
  read: (at: number, most: number, memory: Buffer) => Promise<Uint8Array>;
}

export async function sendArtifact(request: SendArtifact, buffers: ReadBuffers): Promise<void> {
  const { port, chunkBytes } = request;
  await sendThrough(port, (outlet) => send(request, outlet, buffers), chunkBytes);
}

async function send(request: SendArtifact, outlet: Outlet, buffers: ReadBuffers): Promise<void> {
  const file = await new ServerDestination(request.place).openObject(request.key);
  try {
    if (file.bytes !== request.sizeBytes) {
      throw new ServiceError(
        'VERIFICATION_FAILED',
        'The backup has another length than was written.',
      );
    }
    await sendContent(await contentOf(file, request, buffers), outlet, buffers);
  } finally {
    await file.close();
  }
}

async function sendContent(
  { bytes, pieceBytes, read }: Content,
  outlet: Outlet,
  buffers: ReadBuffers,
): Promise<void> {
  let at = 0;
  do {
    const most = Math.min(pieceBytes, bytes - at);
    await outlet.room(most);
    const buffer = await buffers.take();
    try {
      const piece = await read(at, most, buffer);
      if (at === 0) outlet.begin();
      outlet.write(piece);
      at += piece.length;
    } finally {
      buffers.give(buffer);
    }
  } while (at < bytes);
}

async function contentOf(
  file: OpenObject,
  { range, recoveryKey, chunkBytes }: SendArtifact,
  buffers: ReadBuffers,
): Promise<Content> {
  if (recoveryKey === null) return stored(file, range, chunkBytes);
  const buffer = await buffers.take();
  try {
    const opened = await OpenedFile.open(file, recoveryKey, buffer);
    return {
      bytes: opened.bytes,
      // The more of a chunk fits, the less often it is opened.
      pieceBytes: Math.min(sealedChunkBytes, windowChunks * chunkBytes),
      read: (at, most, memory) => opened.read(at, most, memory),
    };
  } finally {
    buffers.give(buffer);
  }
}

function stored(file: OpenObject, range: SendArtifact['range'], pieceBytes: number): Content {
  const wanted = bytesOf(file.bytes, range ?? undefined);
  const { start, end } = wanted ?? { start: 0, end: -1 };
  return {
    bytes: end + 1 - start,
    pieceBytes,
    read: async (at, most, memory) => {
      const piece = memory.subarray(0, most);
      await file.read(piece, start + at);
      return piece;
    },
  };
}
