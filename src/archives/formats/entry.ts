/** Owns what the readers of archives tell of them, in one shape for all formats. */

export interface ArchiveEntry {
  /** Normal form (see names.ts); '' is the archive's root folder. */
  path: string;
  kind: 'file' | 'directory' | 'symlink' | 'hardlink';
  /** Whether its owner may execute it; for zip only known at the end, see `executable`. */
  executable: boolean;
  /** Of a symlink: the target as stored; of a hard link: the normal path of the earlier file. */
  target: string;
}

/** Follows the reading of an archive. What it throws ends the reading. */
export interface ArchiveVisitor {
  entry(entry: ArchiveEntry): void;
  /** Bytes of the last entry, a file; dead after the call. */
  data(bytes: Uint8Array): void;
  /** The last entry, a file, is complete. */
  endFile(): void;
  /** What zip tells only at its end: an earlier file is executable, or is in truth a symlink. */
  executable(path: string): void;
  turnIntoSymlink(path: string, target: string): void;
}

/** Looks at nothing: for reading that only checks. */
export const noVisitor: ArchiveVisitor = {
  entry: () => undefined,
  data: () => undefined,
  endFile: () => undefined,
  executable: () => undefined,
  turnIntoSymlink: () => undefined,
};
