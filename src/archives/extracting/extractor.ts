/**
 * Owns what a deploy asks of archives: the stored upload, unpacked into a folder. The bulk pool
 * implements it.
 */
import type { ArchiveFormat } from '../formats/format.ts';

export interface ExtractOptions {
  /** User and group id that own what is written; null or absent: the process's own. */
  uid?: number | null;
  /** Cancels; what was written so far is removed. Rejects with `signal.reason`. */
  signal?: AbortSignal;
}

export interface Extracted {
  /** Entries of the archive, folders included. */
  entries: number;
  /** Bytes of the files written. */
  bytes: number;
}

export interface Extractor {
  /**
   * Unpacks `archivePath` into `intoDir`, which is emptied first and so may be asked for again after a
   * crash. All checks of the upload are repeated; rejects with the same ARCHIVE_* codes, and with
   * STORAGE_FULL. An archive whose only top-level entry is one folder is unpacked without it.
   */
  extract(
    archivePath: string,
    format: ArchiveFormat,
    intoDir: string,
    options?: ExtractOptions,
  ): Promise<Extracted>;
}
