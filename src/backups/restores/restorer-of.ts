/** Owns how a target's restorer is asked for, and what it is given of the target. */
import type { BackupTarget } from '../../store/records/records.ts';
import type { ServerControl } from '../targets.ts';
import type { ArtifactKind } from './artifact-kind.ts';
import type { Restorer } from './restorer.ts';

export interface RestoreOf extends BackupTarget {
  /** Of the artifact; null in `recover`. */
  artifact: ArtifactKind | null;
  /** Whether this instance dumped it from this target, as hashes show. */
  isOwn: boolean;
  control: ServerControl;
}

/** Null: nothing tells. */
export type SwapState = 'previous' | 'restored' | null;

export interface RecoveringRestorer extends Restorer {
  /**
   * After a process that died within `restore`: puts the target into one of both states, and tells which.
   * Absent: it cannot.
   */
  recover?(log: (line: string) => void, signal: AbortSignal): Promise<SwapState>;
}

/** Throws what keeps the target from being restored, such as NOT_RUNNING or ENGINE_NOT_AVAILABLE. */
export type RestorerOf = (of: RestoreOf) => RecoveringRestorer | Promise<RecoveringRestorer>;
