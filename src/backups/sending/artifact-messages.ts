/** Owns the messages to the thread that sends artifacts (`workers/tasks/artifacts.ts`). All are plain data. */
import type { MessagePort } from 'node:worker_threads';
import type { ByteRange, ServerPlace } from '../destinations/destination.ts';

/** Runs until the port closes: the thread sends many artifacts, each over a port of its own. */
export interface SendArtifactsTask {
  port: MessagePort;
}

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
