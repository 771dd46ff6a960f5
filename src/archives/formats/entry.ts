/** Owns what the readers of archives report of entries, in one shape for all formats. */

export interface ArchiveEntry {
  /** Normal form (see names.ts); '' is the archive's root folder. */
  path: string;
  kind: 'file' | 'directory' | 'symlink' | 'hardlink';
  /** Whether its owner may execute it. For zip this is known only at the end, see `executable`. */
  executable: boolean;
  /** For a symlink the target as stored; for a hard link the normal path of the earlier file. */
  target: string;
}

/** Follows the reading of an archive. An error that it throws ends the reading. */
export interface ArchiveVisitor {
  entry(entry: ArchiveEntry): void;
  /** Bytes of the last entry, a file; invalid after the call. */
  data(bytes: Uint8Array): void;
  /** The last entry, a file, is complete. */
  endFile(): void;
  /** At its end, a zip reports that an earlier file is executable, or that it is in truth a symlink. */
  executable(path: string): void;
  turnIntoSymlink(path: string, target: string): void;
}

/** Ignores everything: for a reading that only checks. */
export const noVisitor: ArchiveVisitor = {
  entry: () => undefined,
  data: () => undefined,
  endFile: () => undefined,
  executable: () => undefined,
  turnIntoSymlink: () => undefined,
};
