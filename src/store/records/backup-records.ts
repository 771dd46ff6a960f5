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
