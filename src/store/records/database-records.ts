/** Owns the shapes of what is stored of databases. */
import type { MoveRecord } from './move-records.ts';
import type { Resources } from '../../protocol/workload.ts';

// prettier-ignore
export const databaseEngines = [
  'POSTGRES', 'MYSQL', 'MARIADB', 'MONGODB', 'REDIS', 'CLICKHOUSE',
] as const;
export type DatabaseEngine = (typeof databaseEngines)[number];
export type DatabaseStatus = 'provisioning' | 'running' | 'stopped' | 'error';

export interface DatabaseRecord {
  id: string;
  teamId: string;
  name: string;
  engine: DatabaseEngine;
  /**
   * Version of the engine it was made with. On a driver of containers it is the tag of its image.
   */
  version: string;
  status: DatabaseStatus;
  /** A sentence that says what keeps it from running; null while nothing does. */
  error: string | null;
  folderId: string | null;
  serverId: string;
  resources: Resources;
  /** Empty where the engine has none. */
  databaseName: string;
  username: string;
  passwordSealed: Uint8Array;
  /** A new password on its way into the server; null when there is none. */
  nextPasswordSealed: Uint8Array | null;
  /**
   * Earlier passwords, the newest first, so that they are masked in older lines of logs; absent:
   * none.
   */
  retiredSealed?: Uint8Array[];
  /** Password of the engine's own administrator, which nobody is told. */
  adminSealed: Uint8Array;
  run: DatabaseRun;
  desired: 'running' | 'stopped';
  /** Own uid of its processes, where the instance runs as root. */
  uid: number;
  createdAtMs: number;
  updatedAtMs: number;
  /** In trash since; null when it is not. */
  deletedAtMs: number | null;
  /** Absent: it was never moved. */
  move?: MoveRecord;
}

/** What runs of a database, journaled before the driver is told of it. */
export interface DatabaseRun {
  /** Counts the workloads ever named. */
  seq: number;
  /** Whether its files, its user and its database are there. Until then each start begins anew. */
  made: boolean;
  /** The job that makes its files. */
  initJob: string | null;
  /** The workload that answers its clients. */
  live: string | null;
  /** The workload that is being started. */
  next: string | null;
  /** Workloads that are being ended. */
  ending: string[];
  /**
   * The port of this machine at which it is reached. It is kept over restarts; null before the
   * first start.
   */
  port: number | null;
  /**
   * On a driver of containers, the image it runs in, as the driver named it; null before the first
   * start.
   */
  image: string | null;
  /** On a driver of containers, the volume that a restore made; absent: it has its first one. */
  volumes?: Readonly<Record<string, string>>;
  /** Those before them, while a restore may still put them back; absent: there is none. */
  volumesBefore?: Readonly<Record<string, string>>;
  /** Whether it ended by itself and does not answer again yet. */
  crashing: boolean;
}
