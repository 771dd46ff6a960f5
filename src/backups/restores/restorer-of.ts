/** Owns how a target's restorer is asked for, and what it is given of the target. */
import type { BackupTarget } from '../../store/records/records.ts';
import type { BesideWork, OwnVolumes, ServerControl } from '../targets.ts';
import type { CameUpload } from './app-entries.ts';
import type { ArtifactKind } from './artifact-kind.ts';
import type { Restorer } from './restorer.ts';

export interface RestoreOf extends BackupTarget {
  restoreId: string;
  /** Of the artifact. */
  artifact: ArtifactKind;
  /** Bytes behind the compression. */
  bytes: number;
  /** Whether this instance dumped it from this target, as hashes show. */
  isOwn: boolean;
  control: HostControl;
  /** Keeps the upload of an app, which becomes the app's when its data is restored. */
  keepUpload: (upload: CameUpload) => Promise<void>;
}

/** What whoever runs the target does for its restore. */
export interface HostControl extends ServerControl {
  /** On a driver of containers: as `OwnVolumes.use`. */
  useVolumes: OwnVolumes['use'];
  /** As `DatabaseTarget.beside`. */
  beside: (volume: string, work: BesideWork, signal: AbortSignal) => Promise<void>;
}

/** Throws what keeps the target from being restored, such as NOT_RUNNING or ENGINE_NOT_AVAILABLE. */
export type RestorerOf = (of: RestoreOf) => Restorer | Promise<Restorer>;

export interface RecoverOf extends BackupTarget {
  control: HostControl;
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
