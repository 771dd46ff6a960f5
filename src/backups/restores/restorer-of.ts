/** Owns how a target's restorer is asked for, and what it is given of the target. */
import type { BackupTarget } from '../../store/records/records.ts';
import type { ServerControl } from '../targets.ts';
import type { ArtifactKind } from './artifact-kind.ts';
import type { Restorer } from './restorer.ts';

export interface RestoreOf extends BackupTarget {
  /** Of the artifact. */
  artifact: ArtifactKind;
  /** Whether this instance dumped it from this target, as hashes show. */
  isOwn: boolean;
  control: ServerControl;
}

/** Throws what keeps the target from being restored, such as NOT_RUNNING or ENGINE_NOT_AVAILABLE. */
export type RestorerOf = (of: RestoreOf) => Restorer | Promise<Restorer>;

export interface RecoverOf extends BackupTarget {
  control: ServerControl;
  /** Whether `replaced` was called: then the restored data stays. */
  isReplaced: boolean;
}

/** Null: nothing tells. */
export type SwapState = 'previous' | 'restored' | null;

/**
 * Behind a death within `Restorer.restore`, of this process or of a server: brings the target into one of both
 * states, whole, and tells which. Rejects when it cannot now; may be repeated.
 */
export type Recover = (of: RecoverOf, signal: AbortSignal) => Promise<SwapState>;
