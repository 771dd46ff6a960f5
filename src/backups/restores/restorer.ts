/** Owns what the way back into a target is to the rest of the program. */
import type { BackupTarget } from '../../store/records/records.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ArtifactKind } from './artifact-kind.ts';

/** The way back. */
export interface Restorer {
  /**
   * Receives the bytes (already gunzipped and checked by its caller), tells lines of a log, puts the target in
   * the new state or back in the old one. Rejects with RestoreFailed where it knows which of them it is.
   */
  restore(
    bytes: AsyncIterable<Uint8Array>,
    log: (line: string) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * After a process that died within `restore`: puts the target into one of both states, and tells which.
   * Absent: it cannot.
   */
  recover?(log: (line: string) => void, signal: AbortSignal): Promise<'previous' | 'restored'>;
}

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

/** Throws what keeps the target from being restored, such as NOT_RUNNING or ENGINE_NOT_AVAILABLE. */
export type RestorerOf = (of: RestoreOf) => Restorer | Promise<Restorer>;

/** A restore that knows whose data is in place now. */
export class RestoreFailed extends ServiceError {
  readonly data: 'previous' | 'partial';

  constructor(cause: ServiceError, data: 'previous' | 'partial') {
    super(cause.code, cause.message, { cause });
    this.data = data;
  }
}
