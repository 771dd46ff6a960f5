/** Owns the messages to and from the thread that packs backups (`workers/tasks/packing.ts`). All are plain data. */
import type { MessagePort } from 'node:worker_threads';
import type { Failure } from '../../workers/task-failure.ts';
import type { PlaceInThread } from '../destinations/open.ts';
import type { WrittenArtifact } from '../runs/pack.ts';

export interface PackTask extends PlaceInThread {
  key: string;
  /** Null: it is not encrypted. */
  recipient: string | null;
  /** See `Packing`. */
  hashesDump: boolean;
}

/** To the thread. */
export interface PackRun extends PackTask {
  port: MessagePort;
}

/** On the port of a run. The thread closes it when nothing of the run is under way any more. */
export type ToPackRun =
  | { type: 'chunk'; bytes: Uint8Array }
  /** The dump is whole. */
  | { type: 'end' }
  /** Gives the run up. */
  | { type: 'stop' };

export type FromPackRun =
  /** So many bytes of the dump were taken. */
  | { type: 'taken'; bytes: number }
  /** So many bytes of the artifact are written. */
  | { type: 'progress'; bytes: number }
  | { type: 'done'; artifact: WrittenArtifact }
  | { type: 'failed'; failure: Failure };

/** From the thread: one that compressed was lost. */
export interface GzipThreadLost {
  cause: string;
}
