/** Owns the messages of bytes on their way out of a thread. The receiver posts how many more bytes may come. */
import type { Failure } from '../task-failure.ts';

export type SendReply =
  /** Nothing keeps it from being sent: chunks follow. */
  | { type: 'begun' }
  | { type: 'chunk'; bytes: Uint8Array }
  | { type: 'end' }
  | { type: 'failed'; failure: Failure };
