/** Owns how a target's restorer is asked for, and what it is given of the target. */
import type { BackupTarget } from '../../store/records/records.ts';
import type { ArtifactKind } from './artifact-kind.ts';
import type { Restorer } from './restorer.ts';

/** What a restorer may do with the workloads of its target, which nothing else starts or stops meanwhile. */
export interface TargetControl {
  /** Resolves when nothing of the target runs. May be repeated. */
  stop(): Promise<void>;
  /** Resolves when the target serves; at once where it is not to run. Rejects with why it does not. */
  start(): Promise<void>;
}

export interface RestoreOf extends BackupTarget {
  /** Of the artifact; null in `recover`. */
  artifact: ArtifactKind | null;
  control: TargetControl;
}

export interface RecoveringRestorer extends Restorer {
  /**
   * After a process that died within `restore`: puts the target into one of both states, and tells which.
   * Absent: it cannot.
   */
  recover?(log: (line: string) => void, signal: AbortSignal): Promise<'previous' | 'restored'>;
}

/** Throws what keeps the target from being restored, such as NOT_RUNNING or ENGINE_NOT_AVAILABLE. */
export type RestorerOf = (of: RestoreOf) => RecoveringRestorer | Promise<RecoveringRestorer>;
