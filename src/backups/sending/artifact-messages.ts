/** Owns the messages to the thread that sends artifacts (`workers/tasks/artifacts.ts`). All are plain data. */
import type { MessagePort } from 'node:worker_threads';
import type { ByteRange, ServerPlace } from '../destinations/destination.ts';

/** Of one artifact, so many chunks are under way at most. */
export const windowChunks = 2;

export interface ArtifactRequest {
  place: ServerPlace;
  key: string;
  /** Of the whole artifact, as it was written. */
  sizeBytes: number;
  /** Null: all of it. */
  range: ByteRange | null;
  /** Opens an encrypted artifact on its way; null: it is sent as it is. */
  recoveryKey: string | null;
  /** Bytes of a chunk. */
  chunkBytes: number;
}

export interface SendArtifact extends ArtifactRequest {
  /** See `workers/sending`. */
  port: MessagePort;
}
