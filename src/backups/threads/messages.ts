/** Owns the messages to and from the threads of backups and restores (`workers/tasks/backups.ts`). All are plain data. */
import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import type { Failure } from '../../workers/task-failure.ts';
import type { PlaceInThread } from '../destinations/open.ts';
import type { WantedArtifact } from '../restores/artifact-check.ts';
import type { StoredArtifact } from '../restores/fetched.ts';
import type { Artifact } from '../runs/artifact.ts';
import type { TarMissed } from '../tar/tar-tree.ts';

/** An artifact on this disk. */
export interface ArtifactFile {
  path: string;
  /** Null: it is not encrypted. */
  recoveryKey: string | null;
}

export interface ReadTree {
  /** A path that nobody else can change. */
  root: string;
  /** The tree, by its name in `root`. */
  name: string;
  /** Of the names in the tar; ends in a slash. */
  prefix: string;
  /** What stays out; paths begin below the tree. */
  leaves?: RegExp;
  /** See `TarTree`. */
  faithful?: boolean;
  /** Files with holes are in it as long as those are no more bytes altogether, which become zeros. */
  holesMaxBytes?: number;
}

/** How many entries cannot be kept, by the reason. */
export type MissedEntries = Partial<Record<TarMissed, number>>;

/** What a thread is for; it ends with it. */
export type BackupTask =
  /** Sends a tree as tar; its outcome is MissedEntries. */
  | { kind: 'tree'; tree: ReadTree }
  /** See `fetchArtifact`. */
  | { kind: 'fetch'; at: PlaceInThread; artifact: StoredArtifact; path: string }
  /** Reads an artifact back; see `verifyArtifact`. */
  | { kind: 'verify'; at: PlaceInThread; key: string; artifact: Artifact }
  /** Its outcome is a CheckedArtifact. */
  | { kind: 'check'; artifact: ArtifactFile; wanted: WantedArtifact }
  /** Sends what an artifact holds. */
  | { kind: 'read'; artifact: ArtifactFile }
  /** Makes what a tar holds that was written faithfully, in an empty folder of ours; then all is given to `uid`. */
  | { kind: 'fill'; path: string; uid: number | null }
  /** Writes the files of a tar below a folder. */
  | { kind: 'write'; path: string }
  | { kind: 'handOver'; path: string; uid: number }
  | { kind: 'remove'; path: string };

/** A step of `ArchiveVisitor`. */
export type TreeStep =
  | { step: 'entry'; entry: ArchiveEntry }
  | { step: 'data'; bytes: Uint8Array }
  | { step: 'end' }
  | { step: 'executable'; path: string }
  | { step: 'symlink'; path: string; target: string };

export type ToBackupThread =
  /** Ends it soon; it has no outcome then. */
  | { type: 'stop' }
  /** Of what it sends: so many bytes more may come. */
  | { type: 'room'; bytes: number }
  /** Of the tar to `fill` from; null: that was all. */
  | { type: 'bytes'; bytes: Uint8Array | null }
  /** Of `write`; null: that was all. */
  | { type: 'steps'; steps: TreeStep[] | null };

export type FromBackupThread =
  /** So many bytes of the artifact, or of what was sent, were read. */
  | { type: 'read'; bytes: number }
  | { type: 'chunk'; bytes: Uint8Array }
  /** Of `write`: steps were done. */
  | { type: 'written' }
  | { type: 'done'; outcome: unknown }
  | { type: 'failed'; failure: Failure };
