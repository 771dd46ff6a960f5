/** Owns the shapes of what is stored of backups. */

export const destinationKinds = ['server', 's3'] as const;
export type DestinationKind = (typeof destinationKinds)[number];

/** A place where backups of a team are kept. */
export interface DestinationRecord {
  id: string;
  teamId: string;
  name: string;
  kind: DestinationKind;
  /** As it was given: of a folder, or what keys in the bucket begin with. The destination's id follows. */
  path: string | null;
  /** Of the bucket; null for a folder. */
  bucket: BucketRecord | null;
  /** Null where backups are not encrypted. */
  encryption: EncryptionRecord | null;
  createdAtMs: number;
  lastTestAtMs: number | null;
  /** What the last test found; null where it was good, and before the first. */
  lastTestError: string | null;
}

export interface BucketRecord {
  endpoint: string;
  name: string;
  region: string;
  /** The access key and the secret key, sealed as JSON. */
  keysSealed: Uint8Array;
}

/** A key pair of age. */
export interface EncryptionRecord {
  /** For whom backups are encrypted: `age1…`. */
  recipient: string;
  /** What opens them, sealed: `AGE-SECRET-KEY-1…`. */
  recoveryKeySealed: Uint8Array;
}

export type BackupRunStatus = 'running' | 'verifying' | 'success' | 'failed' | 'canceled';

/** What a backup is of. */
export interface BackupTarget {
  kind: 'app' | 'database' | 'instance';
  /** Of the instance: `instance`. */
  targetId: string;
}

/** What may lie at the destination: nothing, a part or more, all of it, or what has to be removed. */
export type ArtifactState = 'none' | 'writing' | 'stored' | 'leaving';

export interface BackupRunRecord extends BackupTarget {
  /** In the order in which they were asked for. */
  id: string;
  teamId: string;
  /** Null: somebody asked for it. */
  scheduleId: string | null;
  destinationId: string;
  status: BackupRunStatus;
  /** Somebody canceled it while it was under way. */
  canceled: boolean;
  artifact: ArtifactState;
  /** The name of its object at the destination; null before it has one. */
  key: string | null;
  /** What it has to be restored as, such as `app` or `postgresql`; null before it began. */
  source: string | null;
  encrypted: boolean;
  /** Of the artifact; null before it is written. */
  sizeBytes: number | null;
  /** Of the artifact: written, and then read back. Null while it waits for its turn. */
  progressBytes: number | null;
  /** Of the artifact, hex; null before it is written. */
  sha256: string | null;
  /** Of what was dumped, hex, where a restore asks who made it; absent elsewhere. */
  dumpSha256?: string;
  verifiedAtMs: number | null;
  /** Why it failed or was canceled: a sentence with its code. */
  error: string | null;
  startedAtMs: number;
  finishedAtMs: number | null;
}

export interface BackupScheduleRecord extends BackupTarget {
  id: string;
  teamId: string;
  destinationId: string;
  /** Five fields, or a name such as `@daily`. */
  cron: string;
  /** As the time zone database names it. */
  timezone: string;
  /** So many of its successful runs stay. */
  keep: number;
  enabled: boolean;
  /** By its cron; it begins a little later. Null while it is not enabled. */
  nextRunAtMs: number | null;
  /** The latest time by its cron that was served; null before the first. */
  lastDueAtMs: number | null;
  createdAtMs: number;
}

export type RestoreRunStatus = 'running' | 'success' | 'failed';

/**
 * How far a restore is. Before `replacing` nothing of the target was touched. From `replaced` on the restored
 * data stays; after a death before that the previous data is put back.
 */
export type RestorePhase = 'receiving' | 'checking' | 'replacing' | 'replaced' | 'ended';

export interface RestoreRunRecord extends BackupTarget {
  id: string;
  teamId: string;
  /** Null: somebody sent the artifact. */
  backupRunId: string | null;
  status: RestoreRunStatus;
  phase: RestorePhase;
  /** When it began to change its target; absent before. */
  touchedAtMs?: number;
  /** The last lines of its log. */
  log: string[];
  /** Lines before those, which are not kept. */
  logDropped: number;
  /** Why it failed: a sentence with its code. */
  error: string | null;
  startedAtMs: number;
  finishedAtMs: number | null;
}
