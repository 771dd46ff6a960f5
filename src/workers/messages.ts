/** Owns the messages between this process's threads. All are plain data. */
import type { MessagePort } from 'node:worker_threads';
import type { PlainServiceError } from '../lib/errors.ts';
import type { ArchiveFormat } from '../protocol/archive/format.ts';
import type { ArchiveLimits } from '../protocol/archive/limits.ts';

// ---- bulk: the tasks of tasks/bulk.ts --------------------------------------------------------

/** Chunks of this length, the most that the gateway reads at once, travel in buffers used again. */
export const reusedBytes = 512 * 1024;

/** Runs until the port closes: one thread receives many files, by chunk. */
export interface ServeTask {
  port: MessagePort;
  /** One 32-bit number, counted up with every reply, so that a sender can wait for the next. */
  replies: SharedArrayBuffer;
}

/** What goes down the port. Every transfer has a number of its own. */
export type ReceiveRequest =
  | {
      type: 'begin';
      transfer: number;
      format: ArchiveFormat;
      limits: ArchiveLimits;
      /** Where it is written, and where it is moved once it is whole and checked. */
      temporary: string;
      final: string;
    }
  /** `bytes` is transferred. */
  | { type: 'chunk'; transfer: number; bytes: ArrayBuffer }
  | { type: 'end'; transfer: number }
  | { type: 'abort'; transfer: number };

/** What comes back. `received`, `failed` and `aborted` are the last of a transfer. */
export type ReceiveReply =
  /** So many bytes are written, hashed and read: as many more may be sent. A large buffer comes back to be used again. */
  | { type: 'credit'; transfer: number; bytes: number; buffer?: ArrayBuffer }
  | { type: 'received'; transfer: number; sizeBytes: number; sha256: string; entries: number }
  /** Nothing of it is left. */
  | { type: 'failed'; transfer: number; failure: Failure }
  | { type: 'aborted'; transfer: number };

/** A refusal to be told as it is, or a fault of ours to be logged. */
export type Failure =
  { kind: 'refused'; error: PlainServiceError } | { kind: 'fault'; message: string };

export interface ExtractTask {
  archive: string;
  format: ArchiveFormat;
  into: string;
  uid: number | null;
  limits: ArchiveLimits;
  /** One 32-bit number: anything but 0 means stop. */
  canceled: SharedArrayBuffer;
}

export type ExtractReply =
  { type: 'extracted'; entries: number; bytes: number } | { type: 'failed'; failure: Failure };
