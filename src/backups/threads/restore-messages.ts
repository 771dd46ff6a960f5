/** Owns the messages to and from the threads of restores (`workers/tasks/restores.ts`). All are plain data. */
import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import type { Failure } from '../../workers/task-failure.ts';
import type { WantedArtifact } from '../restores/artifact-check.ts';

/** An artifact on this disk. */
export interface ArtifactFile {
  path: string;
  /** Null: it is not encrypted. */
  recoveryKey: string | null;
}

/** What a thread is for; it ends with it. */
export type RestoreTask =
  /** Its outcome is a CheckedArtifact. */
  | { kind: 'check'; artifact: ArtifactFile; wanted: WantedArtifact }
  /** Sends what an artifact holds. */
  | { kind: 'read'; artifact: ArtifactFile }
  /** Writes the files of a tar below a folder. */
  | { kind: 'write'; path: string };

/** A step of `ArchiveVisitor`. */
export type TreeStep =
  | { step: 'entry'; entry: ArchiveEntry }
  | { step: 'data'; bytes: Uint8Array }
  | { step: 'end' }
  | { step: 'executable'; path: string }
  | { step: 'symlink'; path: string; target: string };

export type ToRestoreThread =
  /** Ends it soon; it has no outcome then. */
  | { type: 'stop' }
  /** Of `read`: so many bytes more may be sent. */
  | { type: 'room'; bytes: number }
  /** Of `write`; null: that was all. */
  | { type: 'steps'; steps: TreeStep[] | null };

export type FromRestoreThread =
  /** So many bytes of the artifact were read. */
  | { type: 'read'; bytes: number }
  | { type: 'chunk'; bytes: Uint8Array }
  /** Of `write`: steps were done. */
  | { type: 'written' }
  | { type: 'done'; outcome: unknown }
  | { type: 'failed'; failure: Failure };
