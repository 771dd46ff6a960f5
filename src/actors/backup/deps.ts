/** Owns the dependencies and limits of the `backups` actor. */
import type { Destination } from '../../backups/destinations/destination.ts';
import type { Artifact, Transport, Writing } from '../../backups/runs/artifact.ts';
import type { Packing, WrittenArtifact } from '../../backups/runs/pack.ts';
import type { RunTurns } from '../../backups/runs/run-turns.ts';
import type { Source } from '../../backups/sources/source.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { BackupTarget } from '../../store/records/records.ts';

export interface OpenDestination {
  destination: Destination;
  /** Whether what is written is encrypted, so that nobody but the owner of the recovery key reads it. */
  encrypts: boolean;
  /** See `packInto`. */
  write: (dump: AsyncIterable<Uint8Array>, writing: DumpWriting) => Promise<WrittenArtifact>;
  /** See `verifyArtifact`. */
  verify: (artifact: Artifact, transport: Omit<Transport, 'destination'>) => Promise<void>;
}

export type DumpWriting = Omit<Writing & Packing, 'destination' | 'recipient'>;

export interface SourceOptions {
  /** Whether nobody but the owner of the recovery key reads the artifact: secrets may be in it. */
  encrypted: boolean;
}

export interface BackupOptions {
  /** For one run, from its turn on. */
  deadlineMs: number;
  /** The most that a schedule begins after its time. */
  jitterMs: number;
  /** For the removal of what a run left, until it is tried again later. */
  cleanUpMs: number;
  cleanAgainMs: number;
  progressEveryMs: number;
  schedulesMax: number;
  /** Runs of a target that failed or were canceled, and are remembered. */
  lostMax: number;
}

export const backupDefaults = {
  cleanUpMs: 20_000,
  cleanAgainMs: 10 * 60_000,
  progressEveryMs: 1_000,
  schedulesMax: 50,
  lostMax: 100,
} as const;

export interface BackupDeps {
  reader: Reader;
  clock: Clock;
  logger: Logger;
  /** The team that has a destination; null where there is none. */
  teamOfDestination: (destinationId: string) => string | null;
  /** Throws NOT_FOUND. */
  openDestination: (destinationId: string) => OpenDestination;
  /** Rejects with what keeps the target from being backed up, such as NOT_RUNNING. */
  sourceOf: (target: BackupTarget, options: SourceOptions) => Promise<Source>;
  turns: RunTurns;
  /** The keys that runs are writing, over all targets: these are no leftovers. */
  writing: Set<string>;
  options: BackupOptions;
}
