/** Owns the messages to the threads that touch archives (`workers/tasks/bulk.ts`). All are plain data. */
import type { MessagePort } from 'node:worker_threads';
import type { ArchiveFormat, ReceivedFormat } from './formats/format.ts';
import type { ArchiveLimits } from './formats/limits.ts';
import type { Failure } from '../workers/task-failure.ts';

/**
 * The bytes of uploads travel in slots of memory that both threads see. A slot is as long as the most that
 * the gateway reads at once, and holds a window of the file at a multiple of its length: byte `n` of the
 * file is byte `n % slotBytes` of its slot.
 */
export const slotBytes = 512 * 1024;

/** Runs until the port closes: one thread receives many files, chunk by chunk. */
export interface ServeTask {
  port: MessagePort;
  /** The slots, aligned to pages. */
  memory: SharedArrayBuffer;
}

/** Messages to the bulk thread. Every transfer has a number of its own. */
export type ReceiveRequest =
  | {
      type: 'begin';
      transfer: number;
      format: ReceivedFormat;
      limits: ArchiveLimits;
      /** The path of the empty file to write, and the path it is moved to once it is checked. */
      temporary: string;
      final: string;
    }
  /** The next bytes of the file: those of the slot from `from` up to `to`. */
  | { type: 'chunk'; transfer: number; slot: number; from: number; to: number }
  /** The number of further bytes that the sender wrote into the file itself. */
  | { type: 'spilled'; transfer: number; bytes: number }
  | { type: 'end'; transfer: number }
  | { type: 'abort'; transfer: number };

export interface ReceivedFile {
  sizeBytes: number;
  /** Hex. */
  sha256: string;
  entries: number;
}

/** Messages from the bulk thread. `received`, `failed` and `aborted` are the last of a transfer. */
export type ReceiveReply =
  /** These bytes are written, hashed and read: as many more may be sent. The slot is free again. */
  | { type: 'credit'; transfer: number; bytes: number; slot: number | null }
  | ({ type: 'received'; transfer: number } & ReceivedFile)
  /** Nothing of the transfer is left. */
  | { type: 'failed'; transfer: number; failure: Failure }
  | { type: 'aborted'; transfer: number };

/** Runs until the port closes: one thread sends many archives, each over a port of its own. */
export interface SendTask {
  port: MessagePort;
}

export interface SendRequest {
  archive: string;
  format: ArchiveFormat;
  limits: ArchiveLimits;
  /** The time of the files in the zip, in milliseconds since the epoch. */
  modifiedMs: number;
  /** See `workers/sending`. */
  port: MessagePort;
}

export interface ExtractTask {
  archive: string;
  format: ArchiveFormat;
  into: string;
  uid: number | null;
  /** Whether a folder that holds everything stays where it is. */
  keepsSoleFolder: boolean;
  limits: ArchiveLimits;
  /** One 32-bit number: any value but 0 means stop. */
  canceled: SharedArrayBuffer;
}

export type ExtractReply =
  { type: 'extracted'; entries: number; bytes: number } | { type: 'failed'; failure: Failure };
